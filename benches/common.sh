# shellcheck shell=bash
# What the benchmarks on devices share: leaving nothing behind, loop devices, drives, numbers.
# Sourced; expects $root and sets up $work, a directory that goes when the benchmark ends.

assay=("$root/target/release/assay")
# What takes away the things made, last first.
undo=()

undo_all() {
  local index
  for ((index = ${#undo[@]} - 1; index >= 0; index--)); do
    eval "${undo[index]}" || true
  done
  undo=()
}

# Notes how to take a thing away; the words are kept apart.
undo_with() { undo+=("$(printf '%q ' "$@")"); }

undo_at_exit() {
  trap undo_all EXIT
  trap 'exit 130' INT TERM
}

# Makes the work directory in the directory given; what it holds may be large.
make_work() {
  work=$(mktemp -d -p "$1" assay-bench.XXXXXX)
  undo_at_exit
  undo_with rm -rf "$work"
}

need_root() { [[ $EUID -eq 0 ]] || fail "needs root, for loop devices and mounts"; }

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# Fails unless each program is there.
need() {
  local program
  for program; do
    command -v "$program" >/dev/null || fail "needs the program $program"
  done
}

# Sets $device to a loop device over the new file FILE of BYTES, allocated.
make_loop() {
  fallocate -l "$2" "$1"
  device=$(losetup --find --show --direct-io=on --sector-size 4096 "$1")
  undo_with losetup --detach "$device"
}

# Sets $device to a new drive on MEDIA; further words are for `create`.
make_drive() {
  "${assay[@]}" drive create "$@" >/dev/null
  attach_drive "$1"
}

attach_drive() {
  device=$("${assay[@]}" drive attach "$1")
  undo_with detach_drive "$1"
}

# Detaches the drive on MEDIA, if it is attached.
detach_drive() { [[ $(health "$1" attached) != true ]] || "${assay[@]}" drive detach "$1" >/dev/null; }

# A figure of a drive's health: health MEDIA KEY.
health() {
  { "${assay[@]}" drive status "$1" --json || [[ $? == 1 ]]; } | tr ',{}' '\n' | sed -n "s/^ *\"$2\": *\"\{0,1\}\([^\"]*\)\"\{0,1\} *$/\1/p" | head -n 1
}

# Sets $device to the new file FILE of BYTES, served through the drive's port alone; limited to OPERATIONS and MIB a second
# if they are given. One at a time.
serve_volume() {
  fallocate -l "$2" "$1"
  coproc VOLUME { exec "$root/target/release/examples/volume" "$1" "${@:3}"; }
  read -r device <&"${VOLUME[0]}"
  undo_with stop_volume
}

stop_volume() {
  local pid=$VOLUME_PID
  eval "exec ${VOLUME[1]}>&-"
  wait "$pid"
}

# Mounts $device, with a file system of KIND made on it, on DIRECTORY; further words are mount options.
make_mount() {
  local kind=$1 directory=$2 options=$3
  case $kind in
    ext4) mkfs.ext4 -q -F -E nodiscard "$device" ;;
    btrfs) mkfs.btrfs -q -f -K "$device" ;;
    *) fail "no file system $kind" ;;
  esac
  mkdir -p "$directory"
  mount -t "$kind" -o "$options" "$device" "$directory"
  undo_with umount "$directory"
}

# Runs a command with MIB of memory, its page cache included; as it is, after saying so, where that cannot be done.
with_memory() {
  local mib=$1 group
  shift
  if [[ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]]; then
    group=/sys/fs/cgroup/memory/assay-bench.$$
    mkdir -p "$group"
    echo "$((mib << 20))" >"$group/memory.limit_in_bytes"
  elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
    group=/sys/fs/cgroup/assay-bench.$$
    mkdir -p "$group"
    echo "$((mib << 20))" >"$group/memory.max"
  else
    [[ -n ${said_memory:-} ]] || echo "memory cannot be limited here: what btrfs reads comes from the page cache" >&2
    said_memory=yes
    "$@"
    return
  fi
  local status=0
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$@") || status=$?
  # It is empty now; what the cache held is counted above it.
  rmdir "$group" 2>/dev/null || true
  return "$status"
}

# Median (least to most) of the numbers on standard input, in the format given.
spread() {
  sort -g | awk -v f="${1:-%.2f}" '{ v[NR] = $1 } END { printf f " (" f " to " f ")", v[int((NR + 1) / 2)], v[1], v[NR] }'
}

# Makes the study STUDY with `assay run` and the further words, unless it is there; BESIDE says what else the machine does.
# Prints its verdicts.
finish_study() {
  local study=$1 beside=$2 began=$SECONDS
  if [[ ! -e $study/finished ]]; then
    "${assay[@]}" run "${@:3}" --out "$study" --no-live >"$study.log" 2>&1 || fail "it failed; see $study.log"
    echo "$beside $((SECONDS - began))" >"$study/finished"
  fi
  python3 "$root/benches/verdicts.py" "$study"
}
