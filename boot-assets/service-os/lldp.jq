# The neighbour that one LLDP frame describes (IEEE 802.1AB), or null when the frame is malformed or says that the neighbour leaves.
# Input: the bytes of a capture file with one packet. Its text comes from the wire: printable ASCII only, bounded.
def text: map(if . < 32 or . > 126 then 63 else . end) | implode | .[:200] | gsub("^ +| +$"; "") | if . == "" then null else . end;
def digit: "0123456789abcdef"[. : . + 1];
def hex: map((. / 16 | floor | digit) + (. % 16 | digit)) | join(":") | .[:200];
# A MAC address, an IPv4 address, or a name. Which subtype is which differs between the two ids.
def id($mac; $network):
  if length < 2 then null
  elif .[0] == $mac and length == 7 then .[1:] | hex
  elif .[0] == $network and .[1] == 1 and length == 6 then .[2:] | map(tostring) | join(".")
  elif .[0] == $mac or .[0] == $network then .[1:] | hex
  else .[1:] | text end;
# Type (7 bits), length (9 bits), value.
def elements:
  if length < 2 then empty
  else (.[0] / 2 | floor) as $type | ((.[0] % 2) * 256 + .[1]) as $length
    | if $type == 0 or length < 2 + $length then empty
      else { $type, value: .[2 : 2 + $length] }, (.[2 + $length :] | elements) end
  end;
def first_of($type): map(select(.type == $type).value) | .[0];

# The headers of the capture file and of its packet have 24 and 16 bytes, the Ethernet header 14.
.[40:]
| if .[12:14] != [136, 204] then null
  else [limit(64; .[14:] | elements)]
    | if map(.type)[:3] != [1, 2, 3] or (first_of(3) | length < 2 or .[:2] == [0, 0]) then null
      else { chassis: (first_of(1) | id(4; 5)), system: ((first_of(5) // []) | text),
             port: (first_of(2) | id(3; 4)), port_description: ((first_of(4) // []) | text) } end
  end
