#!/usr/bin/python3
"""oci.py BINARY ARCHITECTURE VERSION OUT: a container image of the static daemon, without a container daemon.

OUT is an archive in the OCI image layout with one layer: the program and an empty folder for the models. It also has
the manifest.json of `docker save`, for `docker load` before Docker 25 knows only that. The same input gives the same
bytes: no time but SOURCE_DATE_EPOCH, no names of users, layers not compressed.
"""

import hashlib
import io
import json
import os
import sys
import tarfile
import time

PORT = "7420/tcp"
ROOT = "/models"
# Nobody's number; a NAS has its own: `docker run --user`.
USER = 65532


def tar_of(entries, when):
    """The bytes of a tar with these entries: (name, mode, owner, content); content None is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, mode, owner, content in entries:
            entry = tarfile.TarInfo(name)
            entry.mode, entry.uid, entry.gid, entry.mtime = mode, owner, owner, when
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.size = len(content or b"")
            tar.addfile(entry, io.BytesIO(content or b""))
    return out.getvalue()


def json_bytes(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(blob):
    return hashlib.sha256(blob).hexdigest()


def descriptor(media, blob, **more):
    return {"mediaType": f"application/vnd.oci.image.{media}", "digest": "sha256:" + digest(blob), "size": len(blob), **more}


def config_of(layer, architecture, version, when):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    return {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {
            # Without authentication it will not serve: MSTORED_NO_AUTH is for the operator to set.
            "Env": [f"MSTORED_ROOT={ROOT}", "MSTORED_LISTEN=0.0.0.0"],
            "Entrypoint": ["/mstored"],
            "ExposedPorts": {PORT: {}},
            "Volumes": {ROOT: {}},
            "User": f"{USER}:{USER}",
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "mstored",
                "org.opencontainers.image.description": "AI model store",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest(layer)]},
        "history": [{"created": created, "created_by": "mstored, static"}],
    }


def image(binary, architecture, version, when):
    layer = tar_of([("mstored", 0o755, 0, binary), (ROOT.strip("/"), 0o755, USER, None)], when)
    config = json_bytes(config_of(layer, architecture, version, when))
    manifest = json_bytes({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("config.v1+json", config),
        "layers": [descriptor("layer.v1.tar", layer)],
    })
    index = json_bytes({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [descriptor("manifest.v1+json", manifest, platform={"architecture": architecture, "os": "linux"},
                                 annotations={"org.opencontainers.image.ref.name": version})],
    })

    def place(blob):
        return "blobs/sha256/" + digest(blob)

    docker = json_bytes([{"Config": place(config), "RepoTags": [f"mstored:{version}"], "Layers": [place(layer)]}])
    files = [("oci-layout", json_bytes({"imageLayoutVersion": "1.0.0"})), ("index.json", index), ("manifest.json", docker)]
    files += sorted((place(blob), blob) for blob in (layer, config, manifest))
    return tar_of([("blobs", 0o755, 0, None), ("blobs/sha256", 0o755, 0, None)] +
                  [(name, 0o644, 0, content) for name, content in files], when)


def main():
    binary, architecture, version, out = sys.argv[1:]
    with open(binary, "rb") as file:
        content = image(file.read(), architecture, version, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    with open(out, "wb") as file:
        file.write(content)


if __name__ == "__main__":
    main()
