// IANA private enterprise numbers of BMC manufacturers, as in Get Device ID (IPMI v2.0 §20.1).

/** Boards since X11 report the second number. */
export const SUPERMICRO: ReadonlySet<number> = new Set([10876, 47488]);

const NAMES: Readonly<Record<number, string>> = {
  2: 'IBM',
  11: 'HP',
  42: 'Sun',
  111: 'Oracle',
  119: 'NEC',
  343: 'Intel',
  674: 'Dell',
  2011: 'Huawei',
  5703: 'NVIDIA',
  5771: 'Cisco',
  6653: 'Tyan',
  7244: 'Quanta',
  10297: 'Advantech',
  10368: 'Fujitsu',
  10876: 'Supermicro',
  15000: 'Kontron',
  19046: 'Lenovo',
  20301: 'IBM',
  20974: 'American Megatrends',
  37945: 'Inspur',
  47196: 'HPE',
  47488: 'Supermicro',
  49769: 'YADRO',
};

export const manufacturerName = (number: number): string => NAMES[number] ?? `IANA enterprise ${number}`;
