"""The two designs that came before the classic protocol, as small models.

`watchers`: every consumer watches ZooKeeper and decides for itself. `server_side`: a coordinator is the only
watcher, assigns, and tells its members. `suites` has their configurations with what must come out of each.
"""
