#!/usr/bin/python3
"""oci_check.py IMAGE BINARY ARCHITECTURE: every digest and size in the archive agrees with what it names, and the layer
holds the program."""

import hashlib
import io
import json
import sys
import tarfile


def main():
    image, binary, architecture = sys.argv[1:]
    with tarfile.open(image) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    used = {"oci-layout", "index.json", "manifest.json"}

    def blob(descriptor):
        name = "blobs/" + descriptor["digest"].replace(":", "/")
        content = files[name]
        used.add(name)
        assert len(content) == descriptor["size"], name
        assert hashlib.sha256(content).hexdigest() == descriptor["digest"].removeprefix("sha256:"), name
        return content

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads(files["index.json"])["manifests"]
    assert entry["platform"] == {"architecture": architecture, "os": "linux"}
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    (layer,) = (blob(descriptor) for descriptor in manifest["layers"])
    assert config["architecture"] == architecture
    assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()]
    assert set(files) == used, set(files) - used
    (docker,) = json.loads(files["manifest.json"])
    assert files[docker["Config"]] == blob(manifest["config"]) and [files[n] for n in docker["Layers"]] == [layer]

    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        assert sorted(tar.getnames()) == ["models", "mstored"]
        program = tar.getmember("mstored")
        assert program.mode == 0o755 and program.uid == 0
        with open(binary, "rb") as file:
            assert tar.extractfile(program).read() == file.read()
        assert config["config"]["User"] == f"{tar.getmember('models').uid}:{tar.getmember('models').gid}"


if __name__ == "__main__":
    main()
