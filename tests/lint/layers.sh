#!/bin/sh
# The layers: roles (server, client) stand on machinery (common), and that on vocabulary (proto). Fails on
# each #include line that points upwards or reaches past the one file that owns a library.
set -eu
cd "$(dirname "$0")/../.."
found=0

# forbid REASON HEADERS WHERE [EXCEPT]: no file under the folders WHERE, but those that match EXCEPT, may
# include what matches HEADERS. The latter two are extended regular expressions.
forbid() {
    # shellcheck disable=SC2086  # one word a folder
    lines=$(grep -rnE --include='*.[ch]' "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" $3 |
        grep -vE "^(${4:-none}):" || true)
    [ -z "$lines" ] || {
        printf '%s\n' "$lines" | sed "s|\$|  ($1)|"
        found=1
    }
}

all='proto common server client'

forbid 'proto knows no other layer'             '(common|server|client)/' proto
forbid 'common does not know the roles'         '(server|client)/' common
forbid 'the server does not know the client'    'client/' server
forbid 'the client does not know the server'    'server/' client
forbid 'includes start at the top of the tree'  '\.\.?/' "$all"
forbid 'only proto/json.c knows cJSON'          '(cjson/)?cJSON' "$all" 'proto/json\.c'
forbid 'only common/digest*.c know xxHash'       '(.*/)?xxh(ash|3)' "$all" 'common/digest(_avx2)?\.c'
forbid 'only token.c and sha256.c know libsodium' 'sodium(\.h|/)' "$all" 'common/(token|sha256)\.c'
forbid 'only common/optparse.c knows inih'      'ini\.h' "$all" 'common/optparse\.c'
forbid 'only common/json_stream.c knows yajl'   'yajl/' "$all" 'common/json_stream\.c'
forbid 'proto has no loop'                      'uv(\.h|/)' proto
forbid 'in common only the mailbox has a loop'  'uv(\.h|/)' common 'common/mailbox\.[ch]'
forbid 'proto has no sockets, files or threads' \
    '(sys/(socket|stat|sendfile|uio|mman|un)|netinet/.*|arpa/inet|netdb|pthread|threads|unistd|fcntl|dirent|poll)\.h' proto

exit "$found"
