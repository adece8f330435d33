"""All that can be compared, by name, in the order of the tables."""

from peers.iperf import Iperf
from peers.mstore import Mstore, MstoreAgain
from peers.rclone import RcloneHttp, RcloneSftp
from peers.rsync import RsyncDaemon, RsyncSsh
from peers.samba import Smbclient
from peers.socat import Socat
from peers.ssh import Scp
from peers.web import Aria2, Curl

PEERS = {peer.name: peer for peer in (Mstore, MstoreAgain, RsyncDaemon, RsyncSsh, Scp, Curl, Aria2, RcloneSftp,
                                      RcloneHttp, Smbclient, Socat, Iperf)}
