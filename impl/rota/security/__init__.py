"""Who is let in: a broker's side of SASL, and of TLS as far as that is not the standard library's.

No sockets, no clock: a mechanism takes what a client says and gives what it is answered.
"""

from rota.security.mechanisms import MECHANISMS, Exchange, NotAuthenticated, exchange
from rota.security.users import Users, UsersError, read_users

__all__ = [
    "MECHANISMS",
    "Exchange",
    "NotAuthenticated",
    "Users",
    "UsersError",
    "exchange",
    "read_users",
]
