#!/usr/bin/env python3
"""The ClickHouse engine behind ClickHouse's HTTP interface, for tests and the demo.

The PyPI package chdb carries the engine as a library; this puts the part of the server's HTTP
interface over it that clients of Tarn's kind use:

  GET /ping               "Ok."
  GET /  POST /           SQL in `query`, in the body, or its beginning in `query` and the rest in the body
  INSERT ... FORMAT f     data follows the statement, streamed into the engine as it arrives
  database, default_format, query_id, param_*; every other query parameter is a setting
  X-ClickHouse-User and X-ClickHouse-Key, Basic, or `user` and `password`
  X-ClickHouse-Exception-Code with a 4xx or 5xx and the engine's message; X-ClickHouse-Summary

Inserts of tests go wrong as the lines of a file say (--faults), each line once:

  243 NOT_ENOUGH_SPACE    the insert is answered with this error, and writes nothing
  cut                     its connection is reset before anything is written
  reset                   its rows are written, and the connection is reset instead of an answer
  hold                    this and later inserts wait until the line is taken away

What it is not: a server. One user, no replication, no native protocol, one process per data path.
The data path survives a kill: start again on the same path and the tables are there.

Prints one line, `ready port=<port> version=<version>`, once it serves.
"""

import argparse
import base64
import hmac
import http.server
import json
import os
import re
import signal
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

try:
    from chdb.state.sqlitelike import Connection
except ImportError as missing:
    sys.exit(
        f"engine: the ClickHouse engine is not installed for {sys.executable} ({missing}).\n"
        "engine: run tests/harness/setup; it installs it into target/setup/venv."
    )

CHUNK_BYTES = 1 << 20
"""How much of a body is read and handed to the engine at a time."""

HEAD_BYTES_MAX = 4 << 20
"""How far into a body an INSERT's FORMAT may stand; no client writes a longer column list."""

STATEMENT_BYTES_MAX = 256 << 20
"""A statement with inline data is held in memory whole."""

IDLE_SECONDS = 30
"""How long a kept-alive connection may idle, as in the server's default configuration."""

HOLD_SECONDS = 0.05
"""How often an insert that is held looks whether it may go on."""

NOT_SETTINGS = {
    "query", "query_id", "database", "default_format", "user", "password", "quota_key", "role",
    "session_id", "session_timeout", "session_check", "stacktrace", "compress", "decompress",
    "buffer_size", "wait_end_of_query", "client_protocol_version", "close_session",
    "enable_http_compression", "http_zlib_compression_level", "send_progress_in_http_headers",
    "http_headers_progress_interval_ms", "add_http_cors_header",
}  # fmt: skip
"""Query parameters of the interface itself. Answers are always complete, so waiting is moot."""

STATUS = {
    # authentication and access
    192: 403, 193: 403, 194: 401, 291: 403, 497: 403, 516: 403, 164: 403,
    # what the statement says is wrong
    6: 400, 26: 400, 27: 400, 36: 400, 38: 400, 41: 400, 43: 400, 44: 400, 53: 400, 62: 400,
    69: 400, 72: 400, 117: 400, 158: 400, 307: 400, 457: 400,
    # what it names is not there
    46: 404, 47: 404, 48: 501, 60: 404, 81: 404, 115: 404,
    # time and load
    159: 408, 160: 408, 202: 503, 252: 500,
}  # fmt: skip
"""HTTP status by exception code; everything else is a 500, as in the server."""

TOKEN = re.compile(
    rb"""`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*'"""
    rb"""|--[^\n]*|/\*.*?\*/|[A-Za-z_][A-Za-z0-9_]*|[()]|.""",
    re.S,
)

CODE = re.compile(r"Code: (\d+)\.")


class Refusal(Exception):
    """A request the engine never sees."""

    def __init__(self, code, name, message):
        super().__init__(f"Code: {code}. DB::Exception: {message} ({name})")


class Faults:
    """What the next inserts meet, by the lines of a file; nothing where there is none."""

    def __init__(self, path):
        self.path = path
        self.turn = threading.Lock()

    def take(self):
        """The next line, which is taken away; "" where there is none."""
        if self.path is None:
            return ""
        while True:
            with self.turn:
                try:
                    with open(self.path, encoding="utf-8") as file:
                        first, *rest = file.read().splitlines() or [""]
                except FileNotFoundError:
                    return ""
                if first != "hold":
                    if first:
                        with open(self.path + ".new", "w", encoding="utf-8") as file:
                            file.write("\n".join(rest))
                        os.replace(self.path + ".new", self.path)
                    return first
            time.sleep(HOLD_SECONDS)


class InsertHead:
    """An `INSERT … FORMAT name` at the beginning of some bytes, and where its data starts."""

    def __init__(self, statement, fmt, data_start):
        self.statement = statement
        self.format = fmt
        self.data_start = data_start

    @classmethod
    def find(cls, sql):
        """The head of an insert whose data follows; None for every other statement."""
        depth, words, statement_end = 0, 0, None
        for token in TOKEN.finditer(sql):
            text = token.group()
            if text.isspace() or text.startswith((b"--", b"/*")):
                continue
            if text == b"(":
                depth += 1
            elif text == b")":
                depth -= 1
            word = text.upper() if text[:1].isalpha() or text[:1] == b"_" else b""
            words += 1
            if words == 1 and word != b"INSERT":
                return None
            if statement_end is not None:
                data = re.compile(rb"[ \t\f]*;?[ \t\f]*\r?\n?").match(sql, token.end()).end()
                return cls(sql[:statement_end].decode(), text.decode(), data)
            if depth == 0 and word in (b"VALUES", b"SELECT", b"WITH", b"WATCH"):
                return None
            if depth == 0 and word == b"FORMAT":
                statement_end = token.start()
        return None


# The table of an insert, where it names no database.
TARGET = re.compile(r"\s*INSERT\s+INTO\s+(?:TABLE\s+)?(`[^`]+`|\w+)\s*(?:\(|$)", re.IGNORECASE)


class Engine:
    """The engine on one data path. A connection per request, so that no session state leaks."""

    def __init__(self, path, quota=None):
        os.makedirs(path, exist_ok=True)
        self.path = path if quota is None else f"{path}?config-file={write_config(path, *quota)}"
        self.keeper = Connection(self.path)
        self.version = self.keeper.query("SELECT version()", "TSVRaw").bytes().decode().strip()

    def connect(self, database, settings):
        """A connection with the request's database and settings."""
        connection = Connection(self.path)
        try:
            if database:
                connection.query("USE " + quote_identifier(database))
            if settings:
                pairs = (f"{quote_identifier(k)} = {quote_literal(v)}" for k, v in settings)
                connection.query("SET " + ", ".join(pairs))
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self):
        """Closes the data path."""
        self.keeper.close()


def write_config(path, written_bytes, seconds):
    """Configuration files beside a data path whose user may write so many bytes in so many seconds; the first one's path."""
    users, config = path + ".users.xml", path + ".config.xml"
    interval = f"<duration>{seconds}</duration><written_bytes>{written_bytes}</written_bytes>"
    with open(users, "w", encoding="utf-8") as file:
        file.write(
            "<clickhouse><profiles><default/></profiles><users><default><password/>"
            "<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users>"
            f"<quotas><default><interval>{interval}</interval></default></quotas></clickhouse>"
        )
    with open(config, "w", encoding="utf-8") as file:
        file.write(f"<clickhouse><users_config>{users}</users_config></clickhouse>")
    return config


def quote_identifier(name):
    """A name as SQL."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quote_literal(text):
    """A text as SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Body:
    """A request's body, in pieces, by length or chunked."""

    def __init__(self, stream, headers):
        self.stream = stream
        self.chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
        self.left = 0 if self.chunked else int(headers.get("Content-Length") or 0)
        self.ended = not self.chunked and self.left == 0

    def read(self):
        """The next piece, at most CHUNK_BYTES; empty at the end."""
        if self.ended:
            return b""
        if self.left == 0:
            self.left = int(self.stream.readline(100).split(b";")[0].strip() or b"0", 16)
            if self.left == 0:
                while self.stream.readline(65536).strip():
                    pass
                self.ended = True
                return b""
        piece = self.stream.read(min(self.left, CHUNK_BYTES))
        if not piece:
            raise ConnectionError("the client closed the connection inside a body")
        self.left -= len(piece)
        if self.left == 0:
            if self.chunked:
                self.stream.readline(100)
            else:
                self.ended = True
        return piece

    def read_up_to(self, limit):
        """Pieces until the end or about the limit."""
        pieces, size = [], 0
        while size < limit and (piece := self.read()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def drain(self):
        """Reads what is left, so that an answer is not lost to a reset."""
        while self.read():
            pass


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection's requests."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    # The answer's head and body leave in one packet where they fit.
    wbufsize = -1
    disable_nagle_algorithm = True

    def version_string(self):
        """What the Server header says."""
        return "ClickHouse"

    def do_GET(self):
        """GET: /ping, or a query by URL."""
        self.answer()

    def do_POST(self):
        """POST: a statement, with data or without."""
        self.answer()

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        parameters = urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        body = Body(self.rfile, self.headers)
        if url.path == "/ping":
            body.drain()
            return self.reply(200, b"Ok.\n")
        if url.path != "/":
            body.drain()
            return self.reply(404, f"There is no handle {url.path}\n".encode())
        try:
            self.authenticate(dict(parameters))
            status, answer, headers = 200, *self.run(parameters, body)
        except ConnectionError:
            self.close_connection = True
            return None
        except (Refusal, RuntimeError, Exception) as failure:  # chdb raises bare exceptions
            status, answer, headers = self.failed(failure)
            body.drain()
        return self.reply(status, answer, headers)

    def authenticate(self, parameters):
        """Refuses everyone but the one user."""
        user = self.headers.get("X-ClickHouse-User") or parameters.get("user")
        password = self.headers.get("X-ClickHouse-Key") or parameters.get("password")
        authorization = self.headers.get("Authorization", "")
        if user is None and authorization.startswith("Basic "):
            decoded = base64.b64decode(authorization[6:]).decode(errors="replace")
            user, _, password = decoded.partition(":")
        user = "default" if user is None else user
        known = hmac.compare_digest(user.encode(), self.server.user.encode())
        right = hmac.compare_digest((password or "").encode(), self.server.password.encode())
        if not (known and right):
            raise Refusal(
                516,
                "AUTHENTICATION_FAILED",
                f"{user}: Authentication failed: password is incorrect, or there is no user with such name.",
            )

    def run(self, parameters, body):
        """Runs the request's statement; the answer's body and headers."""
        named = dict(parameters)
        settings = [
            (k, v) for k, v in parameters if k not in NOT_SETTINGS and not k.startswith("param_")
        ]
        database = named.get("database") or self.headers.get("X-ClickHouse-Database")
        fmt = named.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated"
        sql = named.get("query", "").encode()
        sql = sql + (b"\n" if sql else b"")
        head = InsertHead.find(sql)
        if head is None:
            sql += body.read_up_to(HEAD_BYTES_MAX)
            head = InsertHead.find(sql)
        connection = self.server.engine.connect(database, settings)
        try:
            if head is not None:
                return self.insert(connection, head, sql[head.data_start :], body)
            sql += body.read_up_to(STATEMENT_BYTES_MAX)
            values = {k[6:]: v for k, v in parameters if k.startswith("param_")}
            result = connection.query(sql.decode(errors="surrogateescape"), fmt, values)
            summary = {"read_rows": result.rows_read(), "written_rows": result.rows_written()}
            return result.bytes() or b"", self.headers_of(fmt, summary)
        finally:
            connection.close()

    def insert(self, connection, head, first, body):
        """Streams an insert's data into the engine, unless it is to go wrong."""
        fault = self.server.faults.take()
        if fault == "cut":
            self.reset()
        if fault not in ("", "reset"):
            code, name = fault.split()
            raise Refusal(int(code), name, "a test makes this insert go wrong.")
        answer = self.insert_whole(connection, head, first, body)
        if fault == "reset":
            self.reset()
        return answer

    def reset(self):
        """Resets the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionResetError("a test resets the connection")

    def insert_whole(self, connection, head, first, body):
        """Streams an insert's data into the engine."""
        if self.is_constrained(connection, head.statement):
            return self.insert_from_file(connection, head, first, body)
        inserter = connection.send_insert(head.statement, head.format)
        with inserter:
            piece = first or body.read()
            while piece:
                inserter.append(piece)
                piece = body.read()
            result = inserter.finish()
        self.refuse_swallowed(connection)
        summary = {"written_rows": result.rows_written, "written_bytes": result.bytes_written}
        return b"", self.headers_of("TabSeparated", summary)

    def refuse_swallowed(self, connection):
        """Raises what the streaming insert that just ended met while its rows were stored: it says nothing of that, and
        no row is there (a full disk, too many parts, the memory's limit)."""
        # The connection's query is still the insert.
        sql = "SELECT code, name, last_error_message FROM system.errors WHERE query_id = queryID() LIMIT 1"
        met = connection.query(sql, "TSVRaw").bytes().decode(errors="replace").rstrip("\n")
        if met:
            code, name, message = met.split("\t", 2)
            raise Refusal(int(code), name, message)

    def is_constrained(self, connection, statement):
        """Whether the table has constraints."""
        table = TARGET.match(statement)
        if table is None:
            return False
        name = quote_literal(table.group(1).strip("`"))
        sql = f"""SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = {name}
            AND position(create_table_query, ' CONSTRAINT ') > 0"""
        return connection.query(sql, "TSVRaw").bytes().strip() != b"0"

    def insert_from_file(self, connection, head, first, body):
        """The same by a file: a streaming insert drops rows that a constraint refuses, and says nothing."""
        with tempfile.NamedTemporaryFile(dir=self.server.engine.path) as file:
            file.write(first)
            while piece := body.read():
                file.write(piece)
            file.flush()
            sql = f"{head.statement} FROM INFILE {quote_literal(file.name)} FORMAT {head.format}"
            result = connection.query(sql, "TabSeparated")
        summary = {"written_rows": result.rows_written()}
        return b"", self.headers_of("TabSeparated", summary)

    def headers_of(self, fmt, summary):
        return {
            "X-ClickHouse-Format": fmt,
            "X-ClickHouse-Summary": json.dumps({k: str(v) for k, v in summary.items()}),
        }

    def failed(self, failure):
        """The answer that tells of a failure."""
        message = str(failure)
        found = CODE.search(message)
        # What has no code of its own is what the server calls LOGICAL_ERROR.
        code = int(found.group(1)) if found else 49
        message = message[found.start() :] if found else f"Code: 49. DB::Exception: {message}"
        if "(version " not in message:
            message += f" (version {self.server.engine.version})"
        if self.server.verbose:
            print(f"engine: {message.splitlines()[0][:300]}", file=sys.stderr, flush=True)
        return STATUS.get(code, 500), message.encode() + b"\n", {"X-ClickHouse-Exception-Code": str(code)}

    def reply(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("X-ClickHouse-Server-Display-Name", "engine")
        self.send_header("X-ClickHouse-Query-Id", str(uuid.uuid4()))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format, *args):
        """Requests are not logged: the engine's failures are."""


class Server(http.server.ThreadingHTTPServer):
    """A thread a connection; the engine works outside Python's lock, so they run at once."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that went away is no event."""
        failure = sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1]
        if not isinstance(failure, (ConnectionError, TimeoutError, ssl.SSLError)):
            super().handle_error(request, client_address)


def arguments():
    parser = argparse.ArgumentParser(description="the ClickHouse engine over HTTP")
    parser.add_argument("--path", required=True, help="the data path; made when missing")
    parser.add_argument("--listen", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8123, help="0 takes a free one")
    parser.add_argument("--user", default="default")
    parser.add_argument("--password", default=os.environ.get("ENGINE_PASSWORD", ""),
                        help="default: the variable ENGINE_PASSWORD, which no process list shows")  # fmt: skip
    parser.add_argument("--database", action="append", default=[], help="make it when missing")
    parser.add_argument("--https-port", type=int, help="serve HTTPS there, too")
    parser.add_argument("--certificate", help="PEM file of the HTTPS port's certificate")
    parser.add_argument("--private-key", help="PEM file of the certificate's key")
    parser.add_argument("--client-authority", help="PEM file: HTTPS clients must show a certificate of it")
    parser.add_argument("--faults", help="file of what the next inserts meet, for tests")
    parser.add_argument("--quota", type=int, nargs=2, metavar=("BYTES", "SECONDS"),
                        help="how much may be written in each interval")  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="failed statements to standard error")
    return parser.parse_args()


def listen(options, port, engine):
    """A server on a port; it answers once it serves."""
    try:
        server = Server((options.listen, port), Handler)
    except OSError as failure:
        sys.exit(f"engine: cannot listen on {options.listen} port {port}: {failure.strerror}")
    server.engine, server.user, server.password = engine, options.user, options.password
    server.verbose, server.faults = options.verbose, Faults(options.faults)
    return server


def tls_context(options):
    """TLS as the options say."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.private_key)
    if options.client_authority:
        context.load_verify_locations(options.client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def main():
    """Serves until told to stop."""
    options = arguments()
    try:
        engine = Engine(os.path.abspath(options.path), options.quota)
        for database in options.database:
            engine.keeper.query(
                f"CREATE DATABASE IF NOT EXISTS {quote_identifier(database)} ENGINE = Atomic"
            )
    except Exception as failure:
        sys.exit(f"engine: cannot open the data path {options.path}: {failure}\n"
                 "engine: is another engine running on it?")  # fmt: skip
    if ":" in options.listen:
        Server.address_family = socket.AF_INET6
    server = listen(options, options.port, engine)
    if options.https_port is not None:
        encrypted = listen(options, options.https_port, engine)
        encrypted.socket = tls_context(options).wrap_socket(
            # The handshake is made by the connection's own thread, at its first read.
            encrypted.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=encrypted.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"ready port={server.server_address[1]} version={engine.version}", flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    engine.close()
    # Connections that idle hold no data; waiting for them would only delay the stop.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
