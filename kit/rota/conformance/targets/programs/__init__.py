"""What programs of others are built from: small mains of ours, and locks that pin what they use."""
