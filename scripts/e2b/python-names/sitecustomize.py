"""Lets Python find names below localhost, where the system does not (RFC 6761, 6.3)."""

import socket

_getaddrinfo = socket.getaddrinfo


def getaddrinfo(host, *rest, **named):
    """Looks up localhost for every name below it."""
    text = host.decode() if isinstance(host, bytes) else host
    is_below = isinstance(text, str) and text.lower().endswith(".localhost")
    return _getaddrinfo("localhost" if is_below else host, *rest, **named)


socket.getaddrinfo = getaddrinfo
