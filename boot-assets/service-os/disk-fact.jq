# One disk as a fact. Names are those of /dev/disk/by-id, built as udev builds them.
def given: if . == null or . == "" then null else . end;
def trimmed: if . == null then null else gsub("^\\s+|\\s+$"; "") end;
def id_text: trimmed | gsub("\\s+"; "_") | gsub("[^A-Za-z0-9#+.:=@_-]"; "_");

$smart[0] as $info
| ($info.serial_number | given) as $smart_serial
| ($smart_serial // ($serial | trimmed | given)) as $number
| (($info.model_name // $info.scsi_model_name | given) // ($model | trimmed | given)) as $kind
| ($info.device.protocol // "") as $protocol
| { $name,
    by_id: ([
      (if ($name | startswith("nvme")) and $number and $kind then "nvme-\($kind | id_text)_\($number | id_text)" else empty end),
      (if ($name | startswith("vd")) and $number then "virtio-\($number | id_text)" else empty end),
      (if ($name | startswith("mmcblk")) and $number and $kind then "mmc-\($kind | id_text)_\($number | id_text)" else empty end),
      (if ($protocol == "ATA" or $vendor == "ATA") and $number and $kind then "ata-\($kind | id_text)_\($number | id_text)" else empty end),
      (if ($wwid | startswith("naa.")) then "wwn-0x\($wwid[4:])" else empty end),
      (if ($wwid | startswith("eui.")) then "nvme-\($wwid)" else empty end)
    ]),
    serial: $number,
    model: $kind,
    bytes: ($bytes | tonumber),
    rotational: (if $name | startswith("vd") then null elif $rotational == "1" then true elif $rotational == "0" then false else null end),
    health: (if $info.smart_status.passed == true then "ok" elif $info.smart_status.passed == false then "failing" else null end),
    read_only: ($read_only == "1"),
    removable: ($removable == "1") }
