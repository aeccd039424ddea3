# Exactly one disk, or a refusal that lists the disks. Input: the disks; $order: the order.
def words: "\(.name) (\(.model // "no model"), \(.serial // "no serial number"), \(.bytes) bytes\(if .read_only then ", read-only" else "" end)\(if .removable then ", removable" else "" end))";
def listed: if length == 0 then "there is no disk" else "there are: " + (map(words) | join("; ")) end;

($order[0].disk // {}) as $wanted
| (($order[0].image.bytes // 0) | tonumber) as $image
| . as $all
| map(select(
    ($wanted.by_id == null or ((.by_id | index($wanted.by_id)) != null)) and
    ($wanted.serial == null or .serial == $wanted.serial) and
    ($wanted.model == null or .model == $wanted.model) and
    (.bytes >= ($wanted.min_bytes // 0)) and
    ($wanted.max_bytes == null or .bytes <= $wanted.max_bytes) and
    ($wanted.rotational == null or .rotational == $wanted.rotational))) as $matching
| ($matching | map(select((.read_only or .removable) | not))) as $writable
| ($writable | map(select(.bytes >= $image))) as $fitting
| if ($matching | length) == 0 then "refused no disk matches the order; \($all | listed)"
  elif ($writable | length) == 0 then "refused the only matching disks are read-only or removable; \($all | listed)"
  elif ($fitting | length) == 0 then "refused the image has \($image) bytes and fits on none of the matching disks; \($all | listed)"
  elif ($fitting | length) > 1 then "refused \($fitting | length) disks match and the order does not say which one; \($fitting | listed)"
  else "disk \($fitting[0].name)" end
