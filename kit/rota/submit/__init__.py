"""What `spark-submit` is given to run `rota`: a file in a folder of its own, where nothing hides a module."""
