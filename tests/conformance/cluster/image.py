#!/usr/bin/env python3
"""Writes an image as an OCI archive: programs of this machine with their libraries, without a registry.

    image.py ARCHIVE NAME PROGRAM[=PATH]...

PATH is the place of the program in the image, /usr/bin by default. The first program is the entrypoint.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

FOLDERS = ["etc", "tmp", "work"]


def libraries(program):
    """Returns the loader and the libraries of a program; a script and a static program have none."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", listed.stdout) if listed.returncode == 0 else []


def entry(name, kind, mode, size=0):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.size = kind, mode, size
    return info


def layer(programs):
    """Returns a layer with the programs and their libraries, all of uid 0 and time 0."""
    files = {}
    for source, path in programs:
        files[path] = source
        files.update((library, library) for library in libraries(source))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for folder in FOLDERS:
            archive.addfile(entry(folder, tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755))
        for path, source in sorted(files.items()):
            with open(source, "rb") as file:
                content = file.read()
            archive.addfile(entry(path.lstrip("/"), tarfile.REGTYPE, 0o755, len(content)), io.BytesIO(content))
    return packed.getvalue()


class Archive:
    """The blobs of an archive."""

    def __init__(self, file):
        self.tar = tarfile.open(file, "w")

    def add(self, name, content):
        self.tar.addfile(entry(name, tarfile.REGTYPE, 0o644, len(content)), io.BytesIO(content))

    def blob(self, kind, content):
        """Adds a blob, and returns its descriptor."""
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.add(f"blobs/sha256/{digest}", content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}


def main():
    archive, name, *arguments = sys.argv[1:]
    programs = []
    for argument in arguments:
        source, _, path = argument.partition("=")
        programs.append((source, path or f"/usr/bin/{os.path.basename(source)}"))
    packed = layer(programs)
    out = Archive(archive)
    out.add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    config = out.blob("config.v1+json", {
        "architecture": "amd64", "os": "linux",
        "config": {"Entrypoint": [programs[0][1]], "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(packed).hexdigest()]},
    })
    manifest = out.blob("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
        "layers": [out.blob("layer.v1.tar", packed)],
    })
    manifest["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    out.add("index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
    out.tar.close()


main()
