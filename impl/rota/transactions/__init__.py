"""Kafka's transaction coordinator without I/O: transactional ids, epochs, and how transactions end.

`TransactionCoordinator` is a class without clock, log and sockets: each request is a step, and what is to be
done for it comes back as `Effects`. What a transaction has in partitions is none of its business: it says
which of them want a marker, and is told when all have theirs.
"""

from rota.transactions.core import CoordinatorConfig, TransactionCoordinator
from rota.transactions.effects import Arm, Cancel, Effects, EndReply, InitReply, Token, WriteMarkers
from rota.transactions.errors import ErrorCode
from rota.transactions.transaction import Partition, State, Transaction

__all__ = [
    "Arm",
    "Cancel",
    "CoordinatorConfig",
    "Effects",
    "EndReply",
    "ErrorCode",
    "InitReply",
    "Partition",
    "State",
    "Token",
    "Transaction",
    "TransactionCoordinator",
    "WriteMarkers",
]
