"""A dataset on an object storage: a server on loopback that lists a bucket and gives ranges of its objects, as S3 does.

It checks no signature and knows no buckets but one; what is tried is that polars' own reader finds the parts, reads
ranges of them, and that the figures are those of the folder.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest
from ratings.worlds import drawn

from axisjudge.checks import InputError
from axisjudge.ratings import read_ratings
from axisjudge.ratings.dataset import dataset_stats, parts_of
from axisjudge.ratings.merging import write_dataset
from axisjudge.studies.agreement import agreement_of_dataset

OBJECT = "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>1</ETag><Size>{size}</Size>"
OBJECT += "<StorageClass>STANDARD</StorageClass></Contents>"


class Bucket(BaseHTTPRequestHandler):
    """GET and HEAD of objects, whole or a range, and the list of those with a prefix."""

    protocol_version = "HTTP/1.1"
    root = Path()

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        at = urlsplit(self.path)
        _, _, key = unquote(at.path).removeprefix("/").partition("/")
        if not key:
            self.answer(200, self.listed(parse_qs(at.query)["prefix"][0]))
        elif not (self.root / key).is_file():
            self.answer(404, b"")
        else:
            self.give((self.root / key).read_bytes())

    def listed(self, prefix):
        keys = {str(path.relative_to(self.root)): path for path in self.root.rglob("*.parquet")}
        objects = (OBJECT.format(key=escape(key), size=keys[key].stat().st_size) for key in sorted(keys))
        rows = "".join(each for each in objects if f"<Key>{prefix}" in each)
        return (
            f"<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()
        )

    def give(self, whole):
        first, last = 0, len(whole) - 1
        if wanted := self.headers.get("Range"):
            begin, _, end = wanted.removeprefix("bytes=").partition("-")
            first = int(begin) if begin else max(0, len(whole) - int(end))
            last = min(int(end), last) if begin and end else last
        head = {"Content-Range": f"bytes {first}-{last}/{len(whole)}"} if wanted else {}
        self.answer(206 if wanted else 200, whole[first : last + 1], head)

    def answer(self, code, body, head=None):
        self.send_response(code)
        for name, value in {"ETag": "1", "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", **(head or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def storage(tmp_path, monkeypatch):
    """The folder behind the bucket, served."""
    bucket = type("OfThisTest", (Bucket,), {"root": tmp_path / "bucket"})
    with ThreadingHTTPServer(("127.0.0.1", 0), bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "anybody",
            "AWS_SECRET_ACCESS_KEY": "anything",
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        yield tmp_path / "bucket"
        server.shutdown()


@pytest.mark.slow
def test_a_dataset_on_an_object_storage_is_counted_as_in_a_folder(tmp_path, storage):
    drawn(7).write_parquet(tmp_path / "ratings.parquet")
    write_dataset([tmp_path / "ratings.parquet"], storage / "ratings", ratings_a_part=100)
    address = "s3://bucket/ratings"
    assert len(parts_of(address)) == len(parts_of(storage / "ratings")) > 3
    assert read_ratings(Path(address)).equals(read_ratings(storage / "ratings"))  # Path takes a slash away
    here = [{name: row[name] for name in row if name != "MB"} for row in dataset_stats(storage / "ratings")]
    assert dataset_stats(address) == here
    (there,), (folder,) = (agreement_of_dataset(each) for each in (address, str(storage / "ratings")))
    assert there.overall.to_dict() == folder.overall.to_dict()
    with pytest.raises(InputError, match="s3://bucket/nothing"):
        parts_of("s3://bucket/nothing")
