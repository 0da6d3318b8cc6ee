"""What dialogues are made of: members and their requests, the transcript, what a case and a probe are.

Also how a dialogue begins: which versions the target advertises, and which of these it cannot read.
"""
