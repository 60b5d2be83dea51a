status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
echo uid $(id -u) gid $(id -g) groups $(id -G | tr ' ' '\n' | sort -n) \
  effective $(status CapEff) bounding $(status CapBnd) no-new-privileges $(status NoNewPrivs) seccomp $(status Seccomp)
