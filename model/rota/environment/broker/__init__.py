"""The broker's side of the world: the coordinator that folds the spec's steps, the log, and the offsets."""
