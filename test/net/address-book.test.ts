import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { type Mac, parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { AddressBook } from '../../appliance/net/address-book.ts';
import { inventoryOf } from '../inventory/memory-store.ts';
import { declaredBy, rackDocument } from '../inventory/rack.ts';

const ip = (text: string) => mustParse(parseIpv4(text));
const mac = (text: string) => mustParse(parseMac(text));

function book(leased: Record<string, Mac> = {}) {
  const fleet = new Fleet();
  fleet.replace(inventoryOf(declaredBy({ lab: rackDocument() })));
  return new AddressBook(fleet, (address) => leased[address] ?? null);
}

function bookWithRemoved(card: Mac, address: string) {
  const fleet = new Fleet();
  fleet.replace(inventoryOf(declaredBy({ lab: rackDocument() })));
  const machine = fleet.machineByMac(card) ?? expect.unreachable('the rack has it');
  fleet.update([{ ...machine, lifecycle: { ...machine.lifecycle, state: 'removed' } }], fleet.at);
  return { machine, book: new AddressBook(fleet, (at) => (at === address ? card : null)) };
}

describe('the machine of an address', () => {
  it('comes from the lease first', () => {
    const guest = mac('52:54:00:77:00:01');
    expect(book({ '10.0.1.11': guest }).whoIs(ip('10.0.1.11'))).toEqual({ mac: guest, machine: null });
  });

  it('comes from the inventory without a lease', () => {
    expect(book().macOf(ip('10.0.1.11'))).toBe('52:54:00:00:01:01');
    expect(book().whoIs(ip('10.0.1.11')).machine).not.toBeNull();
  });

  it('can be a removed machine whose card has a lease', () => {
    const card = mac('52:54:00:00:01:01');
    const { machine, book: after } = bookWithRemoved(card, '10.0.1.99');
    expect(after.whoIs(ip('10.0.1.99'))).toEqual({ mac: card, machine: machine.id });
  });

  it('is null for an unknown address', () => {
    expect(book().whoIs(ip('127.200.0.1'))).toEqual({ mac: null, machine: null });
  });
});
