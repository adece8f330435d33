#!/bin/sh
# boot.sh VERSION: runs inside of the system that deb.sh boots, as a unit: the packages at work under systemd.
set -eux
version=$1

# What systemd notes of the service.
show() {
    systemctl show --property "$1" --value mstored
}

[ "$(show SubState)" = running ]
[ "$(show WatchdogUSec)" = 2min ]
[ "$(mstore --version)" = "mstore $version" ]
mstore push -q /root/src ns/model
mstore ls | grep 'ns/model .*complete'
mstore pull -q ns/model /root/dst
mstore verify -q ns/model
diff -r /root/src /root/dst
[ "$(stat -c %U /srv/models/ns/model)" = mstore ]

# One capability, and calls are filtered.
status=/proc/$(show MainPID)/status
grep -q '^CapEff:.0000000000001000$' "$status"
grep -q '^CapBnd:.0000000000001000$' "$status"
grep -q '^NoNewPrivs:.1$' "$status"
grep -q '^Seccomp:.2$' "$status"

# A daemon that is stuck is started again.
mkdir /run/systemd/system/mstored.service.d
printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/mstored.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart mstored
before=$(show MainPID)
sleep 5
[ "$(show MainPID)" = "$before" ]
kill -STOP "$before"
for _ in $(seq 30); do
    [ "$(show NRestarts)" -ge 1 ] && [ "$(show SubState)" = running ] && break
    sleep 1
done
[ "$(show NRestarts)" -ge 1 ]
[ "$(show MainPID)" != "$before" ]
mstore ls | grep 'ns/model .*complete'

systemctl stop mstored
[ "$(show ExecMainStatus)" = 0 ]
echo 'all is well'
