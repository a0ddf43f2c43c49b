# Bare Debian systems in folders, where Loupe cannot use a package by accident. Sourced; needs root.
# shellcheck shell=bash

# make_bare RELEASE FOLDER: makes a Debian with only the required packages.
make_bare() {
  if ! debootstrap --variant=minbase "$1" "$2"; then
    echo "error: debootstrap could not make a bare Debian ($1): is Debian's package registry reachable?"
    return 1
  fi
  # A folder made by mktemp is closed to others, so a test that changes to the user nobody could not open its root folder.
  chmod 755 "$2"
}

# in_bare FOLDER COMMAND...: runs a command there. Its mounts and processes live in namespaces that always end with it.
# The folder is mounted on itself, so that the command can enter a second bare Debian below it.
in_bare() {
  if [[ -f $1/etc/registries.pem ]]; then local -x PIP_CERT=/etc/registries.pem; fi
  # shellcheck disable=SC2016 # the inner shell expands these
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
      exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
        ${PIP_CERT:+"PIP_CERT=$PIP_CERT"} "$@"
  ' "$@"
}

# copy_into FOLDER: copies this checkout to /loupe there.
copy_into() {
  mkdir "$1/loupe" || return
  # The registries may need a certificate that this machine trusts and a bare Debian does not.
  local certificates=/etc/ssl/certs/ca-certificates.crt
  if [[ -f $certificates ]]; then cp "$certificates" "$1/etc/registries.pem" || return; fi
  git ls-files -z --cached --others --exclude-standard |
    tar --create --null --files-from=- --ignore-failed-read --file=- | tar --extract --directory="$1/loupe"
}
