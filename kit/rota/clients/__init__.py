"""Real consumers in processes of their own, what they did, and what is judged of it."""
