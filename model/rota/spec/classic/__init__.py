"""The classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, static members, timers, the vote."""
