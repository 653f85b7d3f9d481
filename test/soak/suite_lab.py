# SPDX-License-Identifier: Apache-2.0
"""The whole suite in one folder, to be killed: two switches (ovsdb-server and
ovs-vswitchd each), a switch of which there is only the database, a cluster of
three database servers for the controllers, two controllers, an analyzer, a
reshuffler. No namespaces: switches have dummy datapaths. Used by
kill_everything.py.
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time

START_S = 30  # For any daemon to be ready; a busy machine takes its time.


class Failed(Exception):
    pass


def wait_for(what, seconds, condition):
    """Calls condition until it is true; returns how long that took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise Failed(f"waited {seconds} s in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - start


def is_gone(pid):
    """Whether the process has ended, waited for by its parent or not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class UnixHTTPConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target, body=None, timeout=8):
    """(status, JSON or None); status 0: there was no answer."""
    connection = UnixHTTPConnection(path, timeout)
    try:
        connection.request(method, target, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        connection.close()


def ovsdb(path, *operations, database="Open_vSwitch"):
    """What an ovsdb-server answers to a transaction, or None."""
    request = {"method": "transact", "params": [database, *operations], "id": 1}
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(path)
            connection.sendall(json.dumps(request).encode())
            text = b""
            while True:
                part = connection.recv(65536)
                if not part:
                    return None
                text += part
                try:
                    return json.loads(text)["result"]
                except ValueError:
                    pass  # There is more to come.
    except OSError:
        return None


class Daemon:
    """A process that detaches when it is ready, and can be killed and started again."""

    def __init__(self, lab, name, words, prepare=None):
        self.lab, self.name, self.words, self.prepare = lab, name, words, prepare
        self.pid = None

    def path(self, suffix):
        return f"{self.lab.directory}/{self.name}.{suffix}"

    def start(self):
        if self.prepare:
            self.prepare(self)
        with open(self.path("start"), "ab") as log:
            done = subprocess.run([*self.words, "--detach", f"--pidfile={self.path('pid')}"], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, cwd=self.lab.directory, env=self.lab.environment(),
                                  timeout=START_S, check=False)
        if done.returncode:
            raise Failed(f"{self.name} does not start: see {self.path('start')}")
        with open(self.path("pid"), encoding="ascii") as file:
            self.pid = int(file.read())

    def is_alive(self):
        return self.pid is not None and not is_gone(self.pid)

    def kill(self):
        if self.pid is not None:
            pid, self.pid = self.pid, None
            if not is_gone(pid):
                os.kill(pid, signal.SIGKILL)
                wait_for(f"{self.name} to be gone", 30, lambda: is_gone(pid))
            for suffix in ("pid", "ctl"):
                if os.path.exists(self.path(suffix)):
                    os.unlink(self.path(suffix))


class Lab:
    """All daemons. `reals` are the switches with an ovs-vswitchd."""

    reals, hollow, nodes, controllers = ("s1", "s2"), "s3", ("n1", "n2", "n3"), ("c1", "c2")

    def __init__(self, source, build, ovs, directory, port):
        self.source, self.build, self.ovs, self.directory, self.port = source, build, ovs, directory, port
        self.daemons = {}

    def environment(self):
        return {**os.environ, "OVS_RUNDIR": self.directory, "OVS_SYSCONFDIR": self.directory,
                "OVS_DBDIR": self.directory, "OVS_LOGDIR": self.directory}

    def tool(self, *words):
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, cwd=self.directory, env=self.environment(),
                       timeout=START_S, stdout=subprocess.PIPE)

    # --- Switches -----------------------------------------------------------

    def socket_of(self, name):
        return f"{self.directory}/{name}.sock"

    def make_database(self):
        """What a switch begins with, as "new.db"."""
        self.tool(f"{self.ovs}/bin/ovsdb-tool", "create", "new.db", f"{self.ovs}/share/openvswitch/vswitch.ovsschema")
        bridge = [
            {"op": "insert", "table": "Interface", "uuid-name": "i", "row": {"name": "br0", "type": "internal"}},
            {"op": "insert", "table": "Port", "uuid-name": "p", "row": {"name": "br0", "interfaces": ["named-uuid", "i"]}},
            {"op": "insert", "table": "Interface", "uuid-name": "j", "row": {"name": "to-peer", "type": "dummy"}},
            {"op": "insert", "table": "Port", "uuid-name": "q",
             "row": {"name": "to-peer", "interfaces": ["named-uuid", "j"]}},
            {"op": "insert", "table": "Bridge", "uuid-name": "b",
             "row": {"name": "br0", "datapath_type": "dummy",
                     "ports": ["set", [["named-uuid", "p"], ["named-uuid", "q"]]]}},
            {"op": "insert", "table": "Open_vSwitch", "row": {"bridges": ["named-uuid", "b"]}},
        ]
        self.tool(f"{self.ovs}/bin/ovsdb-tool", "transact", "new.db", json.dumps(["Open_vSwitch", *bridge]))

    def renew_database(self, name):
        shutil.copyfile(f"{self.directory}/new.db", f"{self.directory}/{name}.db")

    def add_ovsdb_server(self, name, remote):
        def prepare(daemon):
            for path in (f"{self.directory}/.{name}.db.~lock~", daemon.path("ctl"), daemon.path("sock")):
                if os.path.exists(path):
                    os.unlink(path)
        self.daemons[name] = Daemon(self, name, [
            f"{self.ovs}/sbin/ovsdb-server", "-vconsole:off", "-vsyslog:off", "-vfile:off", "--no-chdir",
            f"--unixctl={self.directory}/{name}.ctl", f"--remote={remote}", f"{self.directory}/{name}.db"], prepare)

    def add_switches(self):
        self.make_database()
        for name in (*self.reals, self.hollow):
            self.renew_database(name)
            self.add_ovsdb_server(name, f"punix:{self.socket_of(name)}")
        for name in self.reals:
            self.daemons[f"{name}-vswitchd"] = Daemon(self, f"{name}-vswitchd", [
                f"{self.ovs}/sbin/ovs-vswitchd", f"unix:{self.socket_of(name)}", "-vconsole:off", "-vsyslog:off",
                "-vfile:off", "--no-chdir", "--enable-dummy", "--disable-system",
                f"--unixctl={self.directory}/{name}-vswitchd.ctl"])

    def set_link(self, state):
        """Whether the hollow switch's port towards the first one has carrier, as its ovs-vswitchd would tell."""
        answer = ovsdb(self.socket_of(self.hollow), {
            "op": "update", "table": "Interface", "where": [["name", "==", "to-peer"]],
            "row": {"ofport": 1, "link_state": state}})
        return answer is not None

    # --- The suite ----------------------------------------------------------

    def add_cluster(self):
        tool, schema = f"{self.ovs}/bin/ovsdb-tool", f"{self.source}/controller/everflow.ovsschema"
        raft = [f"tcp:127.0.0.1:{self.port + i}" for i in range(len(self.nodes))]
        for i, name in enumerate(self.nodes):
            self.add_ovsdb_server(name, f"punix:{self.socket_of(name)}")
            if i == 0:
                self.tool(tool, "--election-timer=500", "create-cluster", f"{name}.db", schema, raft[0])
            else:
                self.tool(tool, "join-cluster", f"{name}.db", "Everflow_State", raft[i], raft[0])
            self.daemons[name].start()
            wait_for(f"{name} to be a member", START_S, lambda n=name: "Status: cluster member" in self.cluster_status(n))

    def cluster_status(self, name):
        done = subprocess.run([f"{self.ovs}/bin/ovs-appctl", "-t", f"{self.directory}/{name}.ctl", "cluster/status",
                               "Everflow_State"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10,
                              check=False)
        return done.stdout

    def leader(self):
        """The name of the server that leads, or None."""
        return next((n for n in self.nodes if self.daemons[n].is_alive() and "Role: leader" in self.cluster_status(n)),
                    None)

    def write_configuration(self):
        names = (*self.reals, self.hollow)
        hosts = [{"name": f"h{i + 1}", "role": "host", "address": f"10.1.{i}.11", "switch": name, "port": 1}
                 for i, name in enumerate(self.reals)]
        topology = {"name": "t", "vip": "10.255.255.1", "hosts": hosts, "switches": [
            {"name": name, "role": "leaf", "loopback": f"10.255.0.{i + 1}", "ovsdb": f"unix:{self.socket_of(name)}",
             "ports": [{"number": 1, "name": "to-peer", "peer": {"node": names[0], "port": 9}}] if name == self.hollow
             else []} for i, name in enumerate(names)]}
        with open(f"{self.directory}/topology.json", "w", encoding="ascii") as file:
            json.dump(topology, file)
        for name in self.controllers:
            document = {
                "listen": f"unix:{self.socket_of(name)}", "topology": "topology.json",
                "analyzers": [{"name": "a1", "url": f"unix:{self.socket_of('a1')}"}],
                "reshufflers": [{"name": "r1", "url": f"unix:{self.socket_of('r1')}"}],
                "everflow": {"targets": ["10.255.255.1"], "encap": "erspan3", "classes": ["tcp_syn", "debug"],
                             "edge_ports": "hosts"},
                "database": [f"unix:{self.socket_of(n)}" for n in self.nodes]}
            with open(f"{self.directory}/{name}.json", "w", encoding="ascii") as file:
                json.dump(document, file)

    def add_suite(self):
        self.write_configuration()
        self.tool("python3", f"{self.source}/test/system/make_copies.py", "--first", "0", "--packets", "50", "--hops",
                  "3", "copies.pcap")
        programs = {
            "a1": ["analyzer/ef-analyzer", "--name", "a1", "--source", f"pcap:{self.directory}/copies.pcap", "--memory",
                   "64M", "--idle", "100ms", "--http", f"unix:{self.socket_of('a1')}"],
            "r1": ["reshuffler/ef-reshuffler", "--vip", "10.255.255.1", "--source", "afpacket:lo", "--sink",
                   "pcap:/dev/null", "--analyzer", "a1=10.1.0.21", "--http", f"unix:{self.socket_of('r1')}"],
            **{name: ["controller/ef-controller", "--config", f"{name}.json"] for name in self.controllers}}
        for name, (program, *words) in programs.items():
            self.daemons[name] = Daemon(self, name, [f"{self.build}/{program}", *words, "--log-file",
                                                     f"{self.directory}/{name}.log"])

    def start(self):
        self.add_switches()
        self.add_cluster()
        self.add_suite()
        for daemon in self.daemons.values():
            if not daemon.is_alive():
                daemon.start()

    def stop(self):
        for daemon in self.daemons.values():
            daemon.kill()
