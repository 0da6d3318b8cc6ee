"""Stepping through a system by hand: a run that a person picks, and a page in the browser to pick it on."""

from rota.play.offers import Offer, Refused, offers
from rota.play.session import PlayError, Session

__all__ = ["Offer", "PlayError", "Refused", "Session", "offers"]
