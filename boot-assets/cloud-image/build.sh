#!/bin/sh
# A Debian disk image for virtual machines that boots on BIOS and UEFI and is configured by cloud-init: build.sh FOLDER creates
# disk.raw.zst there. It uses no loop device, no mount and no grub-install, so it works in a container; it needs root to set file owners.
#
# GPT: 1 GRUB's core for BIOS, 2 EFI system partition, 3 root (ext4, grown at installation).
set -eu

folder=$1
root=$folder/root
disk=$folder/disk.raw
MEGABYTES=500
ESP_MEGABYTES=16
# In sectors of 512 bytes. GRUB's first sector below contains CORE_START, so change both together.
CORE_START=2048
ESP_START=4096
ROOT_START=$((ESP_START + ESP_MEGABYTES * 2048))
PACKAGES=linux-image-cloud-amd64,initramfs-tools,zstd,systemd-sysv,udev,kmod,e2fsprogs,iproute2,ca-certificates
PACKAGES=$PACKAGES,cloud-init,curl,openssl,openssh-server,sudo

# Installing the kernel builds an initrd at once; with every module in it, that alone takes half a minute.
# shellcheck disable=SC2016
FEW_MODULES='mkdir -p "$1/etc/initramfs-tools/conf.d" && echo MODULES=list > "$1/etc/initramfs-tools/conf.d/coldiron"'

make_root() {
  mmdebstrap --quiet --mode=root --format=directory --variant=minbase --include="$PACKAGES" \
    --aptopt='Acquire::Languages "none"' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --essential-hook="$FEW_MODULES" bookworm "$root"
}

# Everything that differs between machines is generated at their first boot.
customise() {
  echo 'LABEL=coldiron-root / ext4 defaults,noatime 0 1' > "$root/etc/fstab"
  : > "$root/etc/machine-id"
  rm -f "$root/var/lib/dbus/machine-id" "$root"/etc/ssh/ssh_host_*
  echo localhost > "$root/etc/hostname"
  rm -f "$root/etc/resolv.conf"
  enable_unit systemd-networkd.service multi-user.target
  enable_unit systemd-networkd.socket sockets.target
  enable_unit systemd-networkd-wait-online.service network-online.target
  for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
  # Only the modules that our seed data uses: each module takes time to load, in every stage.
  cat > "$root/etc/cloud/cloud.cfg.d/90_coldiron.cfg" <<- END
	datasource_list: [NoCloud, None]
	ssh_genkeytypes: [ed25519]
	locale: C.UTF-8
	system_info: { network: { renderers: [networkd] } }
	cloud_config_modules: [keyboard, locale, set-passwords, apt-configure, ntp, timezone, runcmd]
	cloud_final_modules: [package-update-upgrade-install, write-files-deferred, scripts-vendor, scripts-per-once, scripts-per-boot, scripts-per-instance, scripts-user, phone-home, final-message, power-state-change]
END
  # networkd does not report a link as configured before it has looked for an IPv6 router for twelve seconds.
  mkdir -p "$root/etc/systemd/system/systemd-networkd-wait-online.service.d"
  cat > "$root/etc/systemd/system/systemd-networkd-wait-online.service.d/address.conf" <<- END
	[Service]
	ExecStart=
	ExecStart=/bin/sh -c 'until ip -4 -oneline address show scope global | grep -q inet; do sleep 0.2; done'
	TimeoutStartSec=120
END
  # The installer has already grown the disk; a smaller initrd boots faster.
  printf '%s\n' virtio_pci virtio_blk virtio_net ext4 > "$root/etc/initramfs-tools/modules"
  release=$(basename "$root"/lib/modules/*)
  chroot "$root" update-initramfs -u -k "$release" > /dev/null
  rm -rf "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/* "$root"/usr/share/info/* "$root/usr/share/i18n/locales" "$root"/usr/lib/udev/hwdb.d/*
  mkdir -p "$root/boot/grub"
  cat > "$root/boot/grub/grub.cfg" <<- END
	set timeout=0
	serial --unit=0 --speed=115200
	terminal_output serial
	linux /boot/vmlinuz-$release root=LABEL=coldiron-root ro console=tty0 console=ttyS0,115200n8 net.ifnames=0
	initrd /boot/initrd.img-$release
	boot
END
}

enable_unit() {
  mkdir -p "$root/etc/systemd/system/$2.wants"
  ln -sf "/lib/systemd/system/$1" "$root/etc/systemd/system/$2.wants/$1"
}

make_disk() {
  rm -f "$disk"
  truncate -s "${MEGABYTES}M" "$disk"
  sfdisk --quiet "$disk" <<- END
	label: gpt
	start=$CORE_START, size=$((ESP_START - CORE_START)), type=21686148-6449-6E6F-744E-656564454649
	start=$ESP_START, size=$((ESP_MEGABYTES * 2048)), type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
	start=$ROOT_START, type=0FC63DAF-8483-4772-8E79-3D69D8477DE4
END
  put_root
  # shellcheck disable=SC2016
  printf 'search --label coldiron-root --set=root\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n' > "$folder/early.cfg"
  put_efi_loader
  put_bios_loader
}

put_root() {
  # The backup GPT takes the last 33 sectors; a file system of whole mebibytes ends before it.
  truncate -s "$((MEGABYTES - ROOT_START / 2048 - 1))M" "$folder/root.ext4"
  mke2fs -q -t ext4 -m 0 -L coldiron-root -E lazy_itable_init=1,root_owner=0:0 -d "$root" "$folder/root.ext4"
  dd if="$folder/root.ext4" of="$disk" bs=1M seek="$((ROOT_START / 2048))" conv=notrunc,sparse status=none
}

MODULES='part_gpt ext2 search search_label normal configfile linux echo serial terminal boot gzio'

put_efi_loader() {
  # shellcheck disable=SC2086
  grub-mkimage -O x86_64-efi -o "$folder/grub.efi" -p /boot/grub -c "$folder/early.cfg" $MODULES fat efi_gop all_video
  truncate -s "${ESP_MEGABYTES}M" "$folder/esp"
  mformat -i "$folder/esp" -v ESP ::
  mmd -i "$folder/esp" ::/EFI ::/EFI/BOOT
  mcopy -i "$folder/esp" "$folder/grub.efi" ::/EFI/BOOT/BOOTX64.EFI
  dd if="$folder/esp" of="$disk" bs=1M seek="$((ESP_START / 2048))" conv=notrunc status=none
}

# As grub-bios-setup does it: the first sector gets the start of GRUB's core (2048), and an instruction to trust the BIOS about its
# disk; the core gets the start of its remaining sectors (2049).
put_bios_loader() {
  # shellcheck disable=SC2086
  grub-mkimage -O i386-pc -o "$folder/core" -p /boot/grub -c "$folder/early.cfg" biosdisk $MODULES
  dd if=/usr/lib/grub/i386-pc/boot.img of="$disk" bs=1 count=440 conv=notrunc status=none
  dd if="$folder/core" of="$disk" bs=1M seek="$((CORE_START / 2048))" conv=notrunc status=none
  put_bytes '\000\010\000\000\000\000\000\000' "$((0x5c))"
  put_bytes '\220\220' "$((0x66))"
  put_bytes '\001\010\000\000\000\000\000\000' "$((CORE_START * 512 + 0x1f4))"
}

put_bytes() {
  # shellcheck disable=SC2059
  printf "$1" | dd of="$disk" bs=1 seek="$2" conv=notrunc status=none
}

[ -d "$root" ] || make_root
customise
make_disk
zstd -q -T0 -6 -f --rm "$disk" -o "$folder/disk.raw.zst"
