# SPDX-License-Identifier: Apache-2.0
"""Where the faults of the matrix are put, and what a right verdict about each is.

A placement follows from a topology, a kind and a seed alone, so that any line of
the table can be made again.
"""
import random
import re


class Placement:
    """A fault, and what is right to say about it."""

    def __init__(self, kind, at, devices, link=None, options=(), classes=None, order=None, either=False):
        self.kind = kind
        self.at = at  # As `fault add --at` wants it.
        self.devices = set(devices)  # Each of these is a right device.
        self.link = frozenset(link) if link else None  # Both ends; None: the fault has none.
        self.options = list(options)  # More of `fault add`.
        self.classes = classes  # Whether a text tells the class of packets rightly; None: the fault has none.
        self.either = either  # The fault is of the link, which names both its devices.
        self.order = order  # A diagnosis that is asked for, where no watcher would see it.

    def arguments(self):
        return ["--kind", self.kind, "--at", self.at] + self.options

    def describe(self):
        return " ".join(self.arguments())


class Fabric:
    def __init__(self, topology):
        self.topology = topology
        self.switches = {s["name"]: s for s in topology["switches"]}
        self.hosts = [h for h in topology["hosts"] if h["role"] == "host"]
        # (switch, port name, next switch), both directions of each link between switches.
        self.links = [
            (s["name"], p["name"], p["peer"]["node"])
            for s in topology["switches"]
            for p in s["ports"]
            if p["peer"]["node"] in self.switches
        ]

    def leaf_of(self, host):
        return host["switch"]

    def reached_by(self, link):
        """Hosts to which packets over the link may go."""
        to = link[2]
        here = [h for h in self.hosts if h["switch"] == to]
        return here or [h for h in self.hosts if h["switch"] != link[0]]


def _addresses_in(text):
    return set(re.findall(r"\b\d+\.\d+\.\d+\.\d+(?:/\d+)?\b", text))


def says(pattern, addresses=()):
    """The text has the pattern, and of addresses these alone: no narrower class."""
    return lambda text: re.search(pattern, text) is not None and _addresses_in(text) == set(addresses)


def says_about(number):
    """The text has a number that is nearly this one, since a bisection ends somewhere, and no address."""

    def check(text):
        numbers = [int(n) for n in re.findall(r"\b[0-9]+\b", text)]
        return not _addresses_in(text) and any(abs(n - number) <= number / 10 for n in numbers)

    return check


def _link(fabric, rng):
    return rng.choice(fabric.links)


def _at_link(kind, link, options=(), classes=None, both=False, order=None):
    devices = {link[0], link[2]} if both else {link[0]}
    return Placement(kind, link[0] + ":" + link[1], devices, (link[0], link[2]), options, classes, order, both)


def _subset(fabric, rng, link):
    """Some of the packets, and the pattern of the class that says so; every fourth time all of them."""
    host = rng.choice(fabric.reached_by(link))
    return rng.choice(
        [
            ([], says(r"all packets")),
            (["--match", "tcp"], says(r"(?i)\btcp\b")),
            (["--match", "tcp && ip.dst == " + host["address"]], says(r"(?i)\btcp\b", [host["address"]])),
            (["--match", "tcp.dstport == 5001"], says(r"\b5001\b")),
        ]
    )


def blackhole(fabric, rng):
    link = _link(fabric, rng)
    options, classes = _subset(fabric, rng, link)
    return _at_link("blackhole", link, options, classes)


def random_drop(fabric, rng):
    options = ["--rate", rng.choice(["10%", "20%", "40%"]), "--seed", str(rng.randrange(1 << 30))]
    return _at_link("random-drop", _link(fabric, rng), options + ["--match", "tcp"], says(r"(?i)random"))


def size_drop(fabric, rng):
    size = rng.choice([512, 768, 1024])
    options = ["--match", "tcp && frame.len > %d" % size]
    return _at_link("size-drop", _link(fabric, rng), options, says_about(size))


def corrupt(fabric, rng):
    return _at_link("corrupt", _link(fabric, rng), ["--rate", "1", "--match", "tcp"])


def mirror_loss(fabric, rng):
    switch = rng.choice(sorted(fabric.switches))
    options = ["--rate", rng.choice(["10%", "30%", "100%"]), "--seed", str(rng.randrange(1 << 30))]
    return Placement("mirror-loss", switch, {switch}, None, options)


def loop(fabric, rng):
    link = rng.choice([k for k in fabric.links if k[0].startswith("leaf")])
    host = rng.choice([h for h in fabric.hosts if h["switch"] != link[0]])
    options = ["--match", "ip.dst == " + host["address"]]
    return _at_link("loop", link, options, both=True)


def _ends(fabric, rng, link):
    """Two hosts whose packets may cross the link."""
    leaf = link[0] if link[0].startswith("leaf") else link[2]
    near = rng.choice([h for h in fabric.hosts if h["switch"] == leaf])
    far = rng.choice([h for h in fabric.hosts if h["switch"] != leaf])
    return near, far


def delay(fabric, rng):
    link = _link(fabric, rng)
    near, far = _ends(fabric, rng, link)
    order = {"app": "latency", "src": near["name"], "dst": far["name"]}
    return _at_link("delay", link, ["--delay", rng.choice(["1ms", "3ms", "10ms"])], both=True, order=order)


def queue(fabric, rng):
    link = _link(fabric, rng)
    near, far = _ends(fabric, rng, link)
    order = {"app": "latency", "src": near["name"], "dst": far["name"]}
    return _at_link("queue", link, ["--rate", rng.choice(["300kbit", "500kbit", "1mbit"])], both=True, order=order)


def ecmp_skew(fabric, rng):
    link = rng.choice([k for k in fabric.links if k[0].startswith("leaf")])
    return _at_link("ecmp-skew", link, ["--rate", "95%"], order={"app": "ecmp"})


def pfc_storm(fabric, rng):
    options = ["--rate", rng.choice(["50", "200"])]
    if rng.random() < 0.5:
        host = rng.choice(fabric.hosts)
        return Placement("pfc-storm", host["name"], {host["name"]}, (host["name"], host["switch"]), options)
    return _at_link("pfc-storm", _link(fabric, rng), options)


def rdma_nack(fabric, rng):
    host = rng.choice(fabric.hosts)
    options = ["--rate", "20", "--seed", str(rng.randrange(1 << 30)), "--type", rng.choice(["nak", "rnr", "cnp"])]
    return Placement("rdma-nack", host["name"], {host["name"]}, (host["name"], host["switch"]), options)


def link_down(fabric, rng):
    return _at_link("link-down", _link(fabric, rng), both=True)


def switch_crash(fabric, rng):
    switch = rng.choice(sorted(fabric.switches))
    return Placement("switch-crash", switch, {switch})


# What alerts and verdicts about each are called. Others that name the right place
# are neither right nor wrong: a link that is down makes its switch's shares uneven.
CALLED = {
    "blackhole": {"drop"},
    "random-drop": {"drop"},
    "size-drop": {"drop"},
    "corrupt": {"corrupt"},
    "mirror-loss": {"copies"},
    "loop": {"loop"},
    "delay": {"latency"},
    "queue": {"latency"},
    "ecmp-skew": {"ecmp"},
    "pfc-storm": {"pfc", "rdma"},
    "rdma-nack": {"nack", "rdma"},
    "link-down": {"link"},
    "switch-crash": {"switch"},
}

# In this order; what is called alike is kept apart, so that late news of one fault is
# not taken for the next one.
KINDS = {
    "blackhole": blackhole,
    "delay": delay,
    "random-drop": random_drop,
    "pfc-storm": pfc_storm,
    "size-drop": size_drop,
    "ecmp-skew": ecmp_skew,
    "corrupt": corrupt,
    "queue": queue,
    "loop": loop,
    "mirror-loss": mirror_loss,
    "link-down": link_down,
    "rdma-nack": rdma_nack,
    "switch-crash": switch_crash,
}


def placement(topology, kind, seed):
    return KINDS[kind](Fabric(topology), random.Random("%s/%s" % (kind, seed)))
