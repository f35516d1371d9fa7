"""A server of moto for S3, as the tests and the benchmark of vaultfile.fleet use it.

moto compares If-Match with the ETag of the object, but it writes the object only later: two writers can both pass. So
here one request is handled at a time, as if the comparison and the write were one step. The layer also counts requests
and fails some of them on demand."""

import threading
from collections import Counter

import boto3


class Server:
    def __init__(self):
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self.below = DomainDispatcherApplication(create_backend_app)
        self.lock = threading.Lock()
        #: Requests by method.
        self.requests = Counter()
        #: Gets the method and the path of a request; may return a status with which it fails.
        self.fail = lambda method, path: None
        #: Is called after a request was done and before it is answered. If it returns True, the answer is lost.
        self.done = lambda method, path: False
        self.server = make_server("127.0.0.1", 0, self, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.settings = {
            "endpoint_url": self.url, "region_name": "us-east-1", "aws_access_key_id": "k",
            "aws_secret_access_key": "s"}
        self.client = boto3.session.Session().client("s3", **self.settings)
        self.client.create_bucket(Bucket="headers")
        self.requests.clear()

    def __call__(self, environ, start):
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        begun = []
        with self.lock:
            self.requests[method] += 1
            status = self.fail(method, path)
            if status is None:
                answer = list(self.below(environ, lambda *arguments: begun.append(arguments)))
        if status is None and not self.done(method, path):
            start(*begun[-1])
            return answer
        start(f"{status or 500} Failed", [("Content-Type", "application/xml")])
        return [b"<Error><Code>%s</Code></Error>" % (b"SlowDown" if status == 503 else b"InternalError")]

    def stop(self):
        self.server.shutdown()

    def put(self, name, header):
        self.client.put_object(Bucket="headers", Key=name, Body=header)

    def get(self, name):
        return self.client.get_object(Bucket="headers", Key=name)["Body"].read()
