"""Captured packets as events: pcap and pcapng, with what captures lack.

`packets` reads each `segment` of TCP out of a file, `flow` puts those of one direction in order and tells
what is missing, `conversation` finds the frames of a connection, also where its beginning is missing, and
`reader` is the reader of all that. What is said is told by `rota.record.dialogue`, as by the proxy.
"""
