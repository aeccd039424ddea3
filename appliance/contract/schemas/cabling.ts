// The cables of a node as the API shows them: the declared switch port against the LLDP neighbour that was heard.

import { Type } from 'typebox';
import { CABLE_VERDICTS } from '../../domain/cabling.ts';
import { component, nullable, Time } from './shared.ts';

const Text = nullable(Type.String());

export const SwitchPort = Type.Object({
  name: Type.String({ description: 'The system name of the switch, or its chassis id' }),
  port: Type.String(),
});

const Cable = Type.Object({
  interface: Type.String(),
  mac: Text,
  verdict: Type.Enum([...CABLE_VERDICTS]),
  summary: Type.String({ description: 'In a sentence' }),
  declared: nullable(SwitchPort),
  seen: nullable(
    Type.Object(
      { chassis: Text, system: Text, port: Text, port_description: Text, at: Time },
      { description: 'From an LLDP frame, which anyone on the wire can send' },
    ),
  ),
  link: nullable(Type.Boolean({ description: 'Null: not reported' })),
  port_of: nullable(
    Type.Object(
      {
        node: Type.String(),
        interface: Type.String(),
        swapped: Type.Boolean({ description: 'Its own cable is in the port that is declared for this one' }),
      },
      { description: 'Whose declaration names the port that was seen, when it is not this one' },
    ),
  ),
});

export const NodeCabling = component(
  'NodeCabling',
  Type.Object({ node: Type.String(), cables: Type.Array(Cable, { description: 'One for each interface' }) }),
);
