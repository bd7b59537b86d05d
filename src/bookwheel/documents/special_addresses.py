"""Addresses that are not of the public internet: IANA's registries of special purpose, as they stood in 2025.

https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry: every row with its name and
whether it is globally reachable. "N/A" there is False here. The longest prefix that holds an address decides. Multicast
and the deprecated site-local and IPv4-compatible addresses have registries of their own and stand below.
"""

from __future__ import annotations

import ipaddress
from typing import Final

IPV4: Final = (
    ("0.0.0.0/8", "This network", False),
    ("0.0.0.0/32", "This host on this network", False),
    ("10.0.0.0/8", "Private-Use", False),
    ("100.64.0.0/10", "Shared Address Space", False),
    ("127.0.0.0/8", "Loopback", False),
    ("169.254.0.0/16", "Link Local", False),
    ("172.16.0.0/12", "Private-Use", False),
    ("192.0.0.0/24", "IETF Protocol Assignments", False),
    ("192.0.0.0/29", "IPv4 Service Continuity Prefix", False),
    ("192.0.0.8/32", "IPv4 dummy address", False),
    ("192.0.0.9/32", "Port Control Protocol Anycast", True),
    ("192.0.0.10/32", "Traversal Using Relays around NAT Anycast", True),
    ("192.0.0.170/32", "NAT64/DNS64 Discovery", False),
    ("192.0.0.171/32", "NAT64/DNS64 Discovery", False),
    ("192.0.2.0/24", "Documentation (TEST-NET-1)", False),
    ("192.31.196.0/24", "AS112-v4", True),
    ("192.52.193.0/24", "AMT", True),
    ("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)", False),
    ("192.168.0.0/16", "Private-Use", False),
    ("192.175.48.0/24", "Direct Delegation AS112 Service", True),
    ("198.18.0.0/15", "Benchmarking", False),
    ("198.51.100.0/24", "Documentation (TEST-NET-2)", False),
    ("203.0.113.0/24", "Documentation (TEST-NET-3)", False),
    ("240.0.0.0/4", "Reserved", False),
    ("255.255.255.255/32", "Limited Broadcast", False),
    # IANA's registry of multicast addresses.
    ("224.0.0.0/4", "Multicast", False),
)
IPV6: Final = (
    ("::1/128", "Loopback Address", False),
    ("::/128", "Unspecified Address", False),
    ("::ffff:0:0/96", "IPv4-mapped Address", False),
    ("64:ff9b::/96", "IPv4-IPv6 Translation", True),
    ("64:ff9b:1::/48", "IPv4-IPv6 Translation", False),
    ("100::/64", "Discard-Only Address Block", False),
    ("100:0:0:1::/64", "Dummy IPv6 Prefix", False),
    ("2001::/23", "IETF Protocol Assignments", False),
    ("2001::/32", "TEREDO", False),
    ("2001:1::1/128", "Port Control Protocol Anycast", True),
    ("2001:1::2/128", "Traversal Using Relays around NAT Anycast", True),
    ("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", True),
    ("2001:2::/48", "Benchmarking", False),
    ("2001:3::/32", "AMT", True),
    ("2001:4:112::/48", "AS112-v6", True),
    ("2001:10::/28", "Deprecated (previously ORCHID)", False),
    ("2001:20::/28", "ORCHIDv2", True),
    ("2001:30::/28", "Drone Remote ID Protocol Entity Tags (DETs) Prefix", True),
    ("2001:db8::/32", "Documentation", False),
    ("2002::/16", "6to4", False),
    ("2620:4f:8000::/48", "Direct Delegation AS112 Service", True),
    ("3fff::/20", "Documentation", False),
    ("5f00::/16", "Segment Routing (SRv6) SIDs", False),
    ("fc00::/7", "Unique-Local", False),
    ("fe80::/10", "Link-Local Unicast", False),
    # IANA's registry of the address space, and that of multicast addresses.
    ("::/96", "IPv4-compatible (deprecated)", False),
    ("::ffff:0:0:0/96", "IPv4-translated", False),
    ("fec0::/10", "Site-Local Unicast (deprecated)", False),
    ("ff00::/8", "Multicast", False),
)
# All that IANA has given out; the rest of the space is nobody's.
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# They lead to the IPv4 address in their last 32 bits.
_TRANSLATED: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::ffff:0:0/96"))
_ROWS: Final = sorted(
    ((ipaddress.ip_network(network), is_reachable) for network, _, is_reachable in (*IPV4, *IPV6)),
    key=lambda row: -row[0].prefixlen,
)


def is_public(address: str) -> bool:
    """Return True if an address, or the IPv4 address that a translator makes of it, is on the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and any(ip in block for block in _TRANSLATED):
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    for network, is_reachable in _ROWS:
        if ip.version == network.version and ip in network:
            return is_reachable
    return ip.version == 4 or ip in _GLOBAL_UNICAST  # noqa: PLR2004 - the version's name
