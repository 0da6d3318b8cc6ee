"""The process `rota serve`: its line, its port file, how it ends, and what prevents it."""

import http.client
import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from harness.thinned import some
from rota.server import KNOWN

NO_DELAY = "group.initial.rebalance.delay.ms=0"
SERVE = (sys.executable, "-m", "rota", "serve")


@pytest.fixture
def serve(request):
    def start(*arguments, before=()):
        process = subprocess.Popen(
            (*before, *SERVE, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        request.addfinalizer(process.kill)
        line = process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), process.stderr.read()
        return process, line.split()[-1]

    return start


def refused(*arguments):
    """The one line on standard error of a server that does not start."""
    done = subprocess.run((*SERVE, *arguments), capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("rota: ")
    assert "; " in line
    return line


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it(number, code, serve, member, tmp_path):
    port_file = tmp_path / "port"
    process, address = serve("--port-file", str(port_file), "--set", "group.initial.rebalance.delay.ms=0")
    assert port_file.read_text() == address.rpartition(":")[2] + "\n"
    assert list(tmp_path.iterdir()) == [port_file]
    client = member(address)
    assert client.join()["generation_id"] == 1
    process.send_signal(number)
    assert client.closed()
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert (out, err) == ("", "" if code == 0 else "rota: interrupted\n")
    assert not port_file.exists()


@pytest.mark.parametrize(("options", "ends"), [(("--until-stdin-ends",), True), ((), False)])
def test_it_ends_with_its_starter_if_it_is_told_to(options, ends, serve, tmp_path):
    port_file = tmp_path / "port"
    process, _ = serve(*options, "--port-file", str(port_file))
    process.stdin.close()  # as by the end of whoever holds the other end
    if ends:
        assert process.wait(timeout=30) == 0
        assert not port_file.exists()
    else:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)


@pytest.mark.parametrize(("profile", "told"), [("rota", 14), ("kafka-4.x", None)])
def test_the_profile_decides_whether_it_mends(profile, told, serve, member):
    """The JoinGroup that a later one of its member replaces: answered by rota, never by Kafka."""
    said = ("--profile", profile) if profile != "rota" else ()
    process, address = serve(*said, "--set", "group.initial.rebalance.delay.ms=1000")
    earlier, later = member(address), member(address)
    earlier.ask()
    later.member_id = earlier.member_id
    later.ask()
    assert later.joined()["error_code"] == 0
    if told is None:
        assert earlier.silent(0.2)
    else:
        assert earlier.receive()["error_code"] == told
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_port_in_use(serve, tmp_path):
    port_file = tmp_path / "port"
    process, address = serve("--port-file", str(port_file))
    port = address.rpartition(":")[2]
    line = refused("--port", port, "--port-file", str(port_file))
    assert line == f"rota: port {port} on 127.0.0.1 is in use; choose another --port, or 0 for any"
    assert port_file.read_text() == f"{port}\n"
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_bad_settings_and_profiles():
    assert "'kafka-3.x' is not one of 'rota', 'kafka-4.x'" in refused("--profile", "kafka-3.x")
    unknown = refused("--set", "group.max.sizes=3")
    assert "unknown setting 'group.max.sizes'; did you mean group.max.size?" in unknown
    assert "num.partitions cannot be '0'; give a whole number from 1" in refused("--set", "num.partitions=0")
    assert "cannot read --set 'num.partitions'; write it as NAME=VALUE" in refused("--set", "num.partitions")


def test_help_lists_the_settings_with_their_defaults():
    done = subprocess.run((*SERVE, "--help"), capture_output=True, text=True, timeout=30)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["auto.create.topics.enable", "true"] in lines
    assert ["message.max.bytes", "1048588"] in lines
    assert ["group.initial.rebalance.delay.ms", "3000"] in lines
    assert {line[0] for line in lines if line} > set(KNOWN)


@pytest.mark.parametrize("level", ["info", "warning"])
def test_why_a_connection_is_closed(level, serve, connect):
    process, address = serve("--log-level", level)
    client = connect(address)
    client.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert client.closed()
    process.terminate()
    _, err = process.communicate(timeout=30)
    informed = level == "info"
    assert ("closing the connection of /127.0.0.1: a frame of 1195725856 bytes" in err) == informed
    assert bool(err) == informed


@pytest.mark.parametrize("arguments", [(), ("--log-level", "INFO")])
def test_events_of_groups_are_lines_in_the_log(arguments, serve, member):
    process, address = serve("--set", "group.initial.rebalance.delay.ms=0", *arguments)
    client = member(address)
    assert client.join()["generation_id"] == 1
    process.terminate()
    _, err = process.communicate(timeout=30)
    events = (
        "Preparing to rebalance group g",
        "Stabilized group g generation 1",
        "Unloading group metadata for g",
    )
    for event in events:
        assert sum(event in line for line in err.splitlines()) == bool(arguments)
    assert bool(err) == bool(arguments)


def answered(client):
    """Whether a request is answered before the connection ends."""
    try:
        return client.call("ApiVersions", 0)["error_code"] == 0
    except (OSError, AssertionError):
        return False


def test_more_connections_than_files(serve, connect):
    """What cannot be kept is closed at once, and nothing is said about it."""
    limits = 'ulimit -S -n 100; ulimit -H -n 500; exec "$@"'
    process, address = serve(before=("bash", "-c", limits, "bash"))
    with ThreadPoolExecutor(60) as crowd:
        clients = tuple(crowd.map(lambda _: connect(address), range(600)))
    assert sum(answered(client) for client in clients) == 300
    process.terminate()
    assert process.communicate(timeout=30) == ("", "")


def asked(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
    connection.request(method, path)
    return json.loads(connection.getresponse().read())


def test_a_port_for_tests(serve, member, tmp_path):
    path = tmp_path / "control"
    process, address = serve("--control", "0", "--control-file", str(path), "--set", NO_DELAY)
    port = path.read_text().strip()
    assert process.stdout.readline() == f"control at http://127.0.0.1:{port}\n"
    assert asked(port, "/health")["bootstrap"] == address
    client = member(address)
    assert client.join()["generation_id"] == 1
    assert [each["group_id"] for each in asked(port, "/groups")["groups"]] == ["g"]
    in_use = refused("--control", port)
    assert in_use == f"rota: port {port} on 127.0.0.1 is in use; choose another --control, or 0 for any"
    process.terminate()
    assert process.communicate(timeout=30) == ("", "")
    assert (process.returncode, path.exists()) == (0, False)


def test_what_a_port_for_tests_cannot_be_with(tmp_path):
    assert "; give --control 0 for any port" in refused("--control-file", str(tmp_path / "port"))
    assert "leave out --data-dir" in refused("--control", "0", "--data-dir", str(tmp_path / "data"))
    assert "are both 9092; choose two ports" in refused("--port", "9092", "--control", "9092")


def test_port_file_that_cannot_be_written(tmp_path):
    (tmp_path / "taken").write_text("")
    path = tmp_path / "taken" / "port"
    assert f"cannot write {path}: a file is where its folder should be" in refused("--port-file", str(path))


def committed(client):
    topics = client.call("OffsetFetch", 7, group_id="g", topics=None)["topics"]
    return {
        each["partition_index"]: each["committed_offset"] for topic in topics for each in topic["partitions"]
    }


@pytest.mark.parametrize(
    ("number", "fsync"), some(product([signal.SIGTERM, signal.SIGKILL], ["always", "never", "50"]), 2)
)
def test_groups_outlive_the_process(number, fsync, serve, connect, tmp_path):
    options = ("--data-dir", str(tmp_path / "data"), "--fsync", fsync, "--set", "num.partitions=40")
    process, address = serve(*options)
    client = connect(address)
    client.call("Metadata", 9, topics=[{"name": "t"}], allow_auto_topic_creation=True)
    for index in range(40):
        partition = {"partition_index": index, "committed_offset": 7 + index, "committed_metadata": ""}
        who = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
        answer = client.call("OffsetCommit", 8, **who, topics=[{"name": "t", "partitions": [partition]}])
        assert answer["topics"][0]["partitions"] == [{"partition_index": index, "error_code": 0}]
    process.send_signal(number)
    process.wait(timeout=30)
    _, address = serve(*options)
    assert committed(connect(address)) == {index: 7 + index for index in range(40)}


def test_a_folder_that_cannot_be_used_is_told(serve, tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter").touch()
    foreign = refused("--data-dir", str(tmp_path / "foreign"))
    assert foreign.endswith("it has letter and no rota-log.properties; name an empty or a new one")
    (tmp_path / "file").touch()
    file = refused("--data-dir", str(tmp_path / "file"))
    assert file.endswith(" is a file; name a folder, which is made if it is not there")
    data = str(tmp_path / "data")
    serve("--data-dir", data)
    busy = refused("--data-dir", data)
    assert busy == f"rota: another server is using {data}; stop it, or name another folder"


def test_fsync_policies(tmp_path):
    data = ("--data-dir", str(tmp_path))
    for wrong in ("often", "0", "-1", "²"):
        assert "give always, never or a number of milliseconds" in refused(*data, "--fsync", wrong)
    assert "is about what --data-dir keeps; name a folder" in refused("--fsync", "never")
