"""nginx that serves the root (GET) and takes files (PUT); curl and aria2 as its clients."""

import os
from urllib.parse import quote

import packages
import pagecache
from peers.base import Command, Peer
from servers import Server

CONNECTIONS = 4


class Nginx(Server):
    """sendfile and a worker a processor, as Debian's configuration has it; no access log."""

    name = "nginx"

    def words(self):
        body = self.place.root / ".nginx"  # on the same file system, so that a PUT ends with a rename
        (self.folder / "nginx.conf").write_text(f"""\
daemon off;
{f"user {self.user};" if os.geteuid() == 0 else ""}
worker_processes auto;
pid {self.folder}/pid;
error_log stderr warn;
events {{ worker_connections 768; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  client_max_body_size 0;
  client_body_temp_path {body};
  proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi;
  uwsgi_temp_path {self.folder}/uwsgi;
  scgi_temp_path {self.folder}/scgi;
  server {{
    listen {self.net.address}:{self.port};
    root {self.place.root};
    autoindex on;
    dav_methods PUT;
    create_full_put_path on;
    dav_access user:rw group:r all:r;
  }}
}}
""", encoding="utf-8")
        return [packages.program("nginx"), "-c", self.folder / "nginx.conf", "-p", self.folder, "-e", "stderr"]

    def url(self, path):
        """The address of a path relative to the root."""
        return f"http://{self.net.address}:{self.port}/{quote(os.fspath(path))}"


def _names(job):
    return [os.path.relpath(path, job.source) for path in pagecache.files_below(job.source)]


class Curl(Peer):
    """curl; several files at a time where there are several."""

    name = "curl"
    programs = ("nginx", "curl")

    def command(self, servers, job):
        server, todo = servers.get(Nginx), job.scratch / "curl.txt"
        with open(todo, "w", encoding="utf-8") as out:
            for name in _names(job):
                local = (f'upload-file = "{job.source / name}"' if job.is_push
                         else f'output = "{job.destination / name}"')
                out.write(f'url = "{server.url(job.served / name)}"\n{local}\n')
        words = ["curl", "-q", "-s", "-S", "-f", "--create-dirs", "-K", todo]
        if job.files > 1:
            words += ["-Z", "--parallel-max", CONNECTIONS]
        return Command(words, [server.group])


class Aria2(Peer):
    """aria2 with four connections a file and four files at a time."""

    name = "aria2"
    programs = ("nginx", "aria2c")
    directions = ("pull",)

    def command(self, servers, job):
        server, todo = servers.get(Nginx), job.scratch / "aria2.txt"
        todo.write_text("".join(f"{server.url(job.served / name)}\n  out={name}\n" for name in _names(job)),
                        encoding="utf-8")
        return Command(["aria2c", "--no-conf", "-q", "-x", CONNECTIONS, "-s", CONNECTIONS, "-k", "1M",
                        "-j", CONNECTIONS, "--file-allocation=falloc", "-d", job.destination, "-i", todo],
                       [server.group])
