"""What clients and brokers say to each other, as events: recorded by a proxy, or read from captured packets.

`dialogue` makes events of the frames of one connection, whoever has seen them; `cutter` finds the frames in
what arrives, `redaction` hides what names anybody. `proxy` stands between clients and brokers: `addresses`
leads clients back to it, `writer` keeps what was seen. `capture` reads pcap and pcapng.
"""
