import { describe, expect, it } from 'vitest';
import { commandsOf } from './next-step.ts';

const typed = (nextStep: string): readonly string[] => commandsOf(nextStep).map((words) => words.join(' '));

describe('the commands of a next step', () => {
  it('are taken in their order, without the words around them', () => {
    expect(
      typed(
        'Find out why (coldiron sel node01), then start it again: coldiron cancel node01, then coldiron deploy node01 --profile tiny',
      ),
    ).toEqual(['sel node01', 'cancel node01', 'deploy node01 --profile tiny']);
    expect(
      typed('Check the cable: coldiron nodes show node02 lists what was found. Then: coldiron assets verify'),
    ).toEqual(['nodes show node02', 'assets verify']);
    expect(
      typed(
        'coldiron assets build undionly.kpxe --state /var/lib/coldiron. Then start it again: coldiron commission node01',
      ),
    ).toEqual(['assets build undionly.kpxe --state /var/lib/coldiron', 'commission node01']);
  });

  it('do not include alternatives, commands with a gap, and terminals', () => {
    expect(
      typed('Check it: coldiron power node01 status. If the password is wrong: coldiron power node01 cycle'),
    ).toEqual(['power node01 status']);
    expect(
      typed('Look there (coldiron console node01). Then: coldiron bmc set-credentials node01 --username USER'),
    ).toEqual([]);
    expect(typed('Look for errors: coldiron console node01 --last. To give up: coldiron cancel node01')).toEqual([
      'console node01 --last',
    ]);
  });
});
