# Bare Debians in folders, where nothing is installed that Loupe could lean on by accident. Sourced; needs root.
# shellcheck shell=bash

# make_bare RELEASE FOLDER: a Debian with nothing in it.
make_bare() {
  if ! debootstrap --variant=minbase "$1" "$2"; then
    echo "error: debootstrap could not make a bare Debian ($1): is Debian's package registry reached?"
    return 1
  fi
  # mktemp keeps it to root, and a test that becomes nobody would find not even its root folder.
  chmod 755 "$2"
}

# in_bare FOLDER COMMAND...: runs it there. Its mounts and processes live in namespaces that end with it, however it ends.
# The folder is mounted, so that another bare Debian can be entered from there.
in_bare() {
  if [[ -f $1/etc/registries.pem ]]; then local -x PIP_CERT=/etc/registries.pem; fi
  # shellcheck disable=SC2016 # these are the inner shell's
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
      exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
        ${PIP_CERT:+"PIP_CERT=$PIP_CERT"} "$@"
  ' "$@"
}

# copy_into FOLDER: this checkout, as /loupe there.
copy_into() {
  mkdir "$1/loupe" || return
  # The registries may be behind something that this machine trusts and a bare one does not.
  local certificates=/etc/ssl/certs/ca-certificates.crt
  if [[ -f $certificates ]]; then cp "$certificates" "$1/etc/registries.pem" || return; fi
  git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read --file=- | tar --extract --directory="$1/loupe"
}
