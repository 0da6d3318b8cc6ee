"""Tables kept between runs, in files: what the Python of a system has said once need not be asked again.

Tables only: what is searched, judged and compared with `System.successors` is so in every run.
"""
