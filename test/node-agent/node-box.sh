#!/bin/sh
# Usage: unshare --mount --pid --fork --kill-child --mount-proc sh node-box.sh
# A node in a box: its own /etc, /opt, /run and /var/lib, the network of the host, and a stand-in for systemd that keeps the node agent
# running as its unit would. Nothing outside is changed, and everything ends with it.
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=0755 none /opt
mkdir -p /opt/bin /opt/etc/upper /opt/etc/work
mount -t overlay -o lowerdir=/etc,upperdir=/opt/etc/upper,workdir=/opt/etc/work overlay /etc
mount -t tmpfs -o mode=0755 none /run
mount -t tmpfs -o mode=0755 none /var/lib
mount -t tmpfs none /home
mkdir -p /run/systemd/system /var/lib/coldiron

cat >/opt/bin/systemctl <<'EOF'
#!/bin/sh
stop_agent() {
  rm -f /run/wanted
  pid=$(cat /run/agent.pid 2>/dev/null) || return 0
  kill -s TERM "$pid" 2>/dev/null
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
case $1 in
  start) : >/run/wanted ;;
  stop) stop_agent ;;
  restart) stop_agent; : >/run/wanted ;;
  is-active) [ -e /run/agent.pid ] && echo active ;;
esac
EOF
cat >/opt/bin/journalctl <<'EOF'
#!/bin/sh
[ ! -e /run/agent.log ] || tail -n 50 /run/agent.log
EOF
cat >/opt/bin/systemd-run <<'EOF'
#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
setsid "$@" </dev/null >/dev/null 2>&1 &
EOF
chmod 755 /opt/bin/*
PATH=/opt/bin:$PATH
export PATH
echo ready
while :; do
  if [ -e /run/wanted ] && [ -s /etc/coldiron/node-agent.env ] && [ -s /opt/coldiron/node-agent/node-agent ]; then
    (
      set -a
      # shellcheck disable=SC1091 # A file of the node.
      . /etc/coldiron/node-agent.env
      STATE_DIRECTORY=/var/lib/coldiron AGENT_CONSOLE=/run/console
      exec dash /opt/coldiron/node-agent/node-agent
    ) 2>>/run/agent.log &
    echo $! >/run/agent.pid
    wait $! || :
    rm -f /run/agent.pid
  fi
  sleep 0.2
done
