"""A bucket of S3 on loopback: moto, with its check of signatures on.

SIGUSR1 closes the port as a service that is away does (not that of HTTPS), SIGUSR2 opens it again with the objects that were there.
Beside S3 it answers under /-/, for tests: objects/<bucket> lists what is there, and takes PUT and DELETE of
objects/<bucket>/<key> without a signature; DELETE bucket/<bucket> removes a bucket, PUT makes one; PUT keys makes
the key pair in the body, "id secret", the only one that is taken; PUT rights allows the actions in the body alone.
"""

import argparse
import json
import os
import signal
import sys
import threading

os.environ["AWS_DEFAULT_REGION"] = "us-east-1"
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"

from moto.core import DEFAULT_ACCOUNT_ID
from moto.iam.models import iam_backends
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.s3.models import s3_backends
from werkzeug.serving import make_server

USER = "tarn"

def policy(actions):
    """What allows these actions on everything."""
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class Quiet(MotoRequestHandler):
    """Names requests and what became of them, without colours."""

    def log_request(self, code="-", size="-"):
        print(self.requestline, code, flush=True)


class Service:
    """S3, and what tests do behind its back."""

    def __init__(self):
        self.s3 = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        self.iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
        self.iam.create_user("us-east-1", USER)
        self.allow(["s3:*"])
        self.user = self.iam.get_user(USER)
        self.application = DomainDispatcherApplication(create_backend_app)

    def set_keys(self, key, secret):
        """Makes a key pair the only one."""
        self.user.access_keys.clear()
        made = self.iam.create_access_key(user_name=USER)
        made.access_key_id, made.secret_access_key = key, secret

    def allow(self, actions):
        """The keys' owner may do this and nothing else."""
        self.iam.put_user_policy(USER, "rights", policy(actions))

    def __call__(self, environ, start_response):
        path = environ.get("PATH_INFO", "")
        if not path.startswith("/-/"):
            return self.application(environ, start_response)
        size = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(size) if size else b""
        try:
            answer = self.behind(environ["REQUEST_METHOD"], path[3:].split("/", 2), body)
        except Exception as failure:
            start_response("500 no", [])
            return [repr(failure).encode()]
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    def behind(self, method, parts, body):
        """What is done without a signature."""
        if parts == ["keys"]:
            self.set_keys(*body.decode().split(" ", 1))
        elif parts == ["rights"]:
            self.allow(body.decode().split(" "))
        elif parts[0] == "bucket" and method == "PUT":
            self.s3.create_bucket(parts[1], "us-east-1")
        elif parts[0] == "bucket":
            self.s3.get_bucket(parts[1]).keys.clear()
            self.s3.delete_bucket(parts[1])
        elif method == "PUT":
            self.s3.put_object(parts[1], parts[2], body)
        elif method == "DELETE":
            self.s3.delete_object(parts[1], parts[2])
        elif len(parts) == 3:
            return self.s3.get_object(parts[1], parts[2]).value.decode("latin-1")
        else:
            bucket = self.s3.buckets.get(parts[1])
            return sorted([key, found.size] for key, found in bucket.keys.items()) if bucket else []


def main():
    """Serves until killed."""
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--bucket", required=True)
    options.add_argument("--https-port", type=int)
    options.add_argument("--certificate")
    options.add_argument("--private-key")
    options = options.parse_args()
    service = Service()
    service.set_keys(os.environ["BUCKET_KEY"], os.environ["BUCKET_SECRET"])
    service.s3.create_bucket(options.bucket, "us-east-1")
    if options.https_port is not None:
        files = (options.certificate, options.private_key)
        encrypted = make_server(
            "127.0.0.1", options.https_port, service, True, request_handler=Quiet, ssl_context=files
        )
        threading.Thread(target=encrypted.serve_forever, daemon=True).start()
    signals = {signal.SIGUSR1, signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = None
    while True:
        if server is None:
            try:
                server = make_server("127.0.0.1", options.port, service, True, request_handler=Quiet)
            except (OSError, SystemExit) as failure:
                sys.exit(f"bucket: cannot listen on port {options.port}: {failure}")
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            print("ready", flush=True)
        if signal.sigwait(signals) == signal.SIGUSR1 and server is not None:
            server.shutdown()
            server.server_close()
            signal.sigwait({signal.SIGUSR2})
            server = None


if __name__ == "__main__":
    main()
