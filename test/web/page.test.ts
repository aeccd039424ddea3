// The page in Chromium against a real API, store and stream on loopback.

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOUR } from '../../appliance/domain/instant.ts';
import {
  accessibilityProblems,
  DESKTOP,
  openBrowser,
  openPage,
  PHONE,
  type Theme,
  type WatchedPage,
} from './browser.ts';
import { addSampleFleet } from './sample-fleet.ts';
import { openSite, type Site } from './site.ts';

/** A browser starts and paints slowly while virtual machines boot beside it. */
const LONG = { timeout: 240_000 };
const SOON = { timeout: 60_000, interval: 100 };

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await openSite({ deployable: true });
  await addSampleFleet(site.store, 40, site.clock.now());
  browser = await openBrowser();
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

async function signedIn(
  to: string,
  options: Parameters<typeof openPage>[1] = {},
  role: 'viewer' | 'admin' = 'admin',
): Promise<WatchedPage> {
  const watched = await openPage(browser, options);
  watched.page.setDefaultTimeout(SOON.timeout);
  await watched.page.goto(await site.signInLink(role, to));
  await watched.page.locator('.live-live').waitFor({ state: 'attached' });
  return watched;
}

const rowOf = (page: Page, name: string) => page.locator(`[data-node="${name}"]`);
const api = (url: string, payload: object = {}) => site.call({ role: 'admin', method: 'POST', url, payload });

describe('signing in', () => {
  it('takes a token, refuses a wrong one with words, and signs out', LONG, async () => {
    const { page, problems, close } = await openPage(browser);
    page.setDefaultTimeout(SOON.timeout);
    await page.goto(`${site.url}/?tab=ready`);
    await page.getByLabel('API token').fill('hunter2');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('This is not a Coldiron token.').waitFor();
    await page.getByLabel('API token').fill(site.tokens.viewer);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('grid', { name: 'Nodes' }).waitFor();
    expect(page.url()).toBe(`${site.url}/?tab=ready`);
    await page.getByRole('button', { name: /test-viewer/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('takes a one-time link once, and removes the code from the address', LONG, async () => {
    const link = await site.signInLink('viewer');
    const first = await openPage(browser);
    await first.page.goto(link);
    await first.page.getByRole('grid', { name: 'Nodes' }).waitFor();
    expect(first.page.url()).toBe(`${site.url}/`);
    const second = await openPage(browser);
    await second.page.goto(link);
    await second.page.getByText(/used already or is older than 5 minutes/).waitFor();
    await Promise.all([first.close(), second.close()]);
  });
});

describe('the fleet', () => {
  it('changes a row in place when the API changes its node', LONG, async () => {
    const { page, problems, close } = await signedIn('/?q=node01');
    await rowOf(page, 'node01').getByText('registered').waitFor();
    expect((await api('/api/v1/nodes/node01/commission')).statusCode).toBe(200);
    await rowOf(page, 'node01').getByText('commissioning').waitFor();
    await rowOf(page, 'node01')
      .getByText(/\d+:\d\d left/)
      .waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('previews a deployment of several nodes, names the refused one, and arms the others', LONG, async () => {
    const { page, problems, close } = await signedIn('/?q=r10');
    // By keyboard: j moves, x selects.
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    for (const name of ['r10u09', 'r10u17', 'r10u13']) await rowOf(page, name).getByRole('checkbox').check();
    await page.getByText('4 selected').waitFor();
    await page.getByRole('button', { name: 'Deploy…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('refused: its state is active; this needs ready, enrolling or failed').waitFor();
    const action = dialog.getByRole('button', { name: 'Deploy 3 machines' });
    expect(await action.isDisabled()).toBe(true);
    await dialog.getByLabel(/to confirm/).fill('deploy 3');
    await action.click();
    // What only the appliance knows is refused by it, with its reason.
    await dialog.getByText('2 machines accepted, 1 refused.').waitFor();
    await dialog.getByText('its profile storage is not declared').waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await rowOf(page, 'r10u09').getByText('deploying').waitFor();
    // What is armed is on every page until it is cancelled.
    await page.getByRole('button', { name: /2 armed/ }).click();
    await page.getByRole('button', { name: 'Cancel r10u09' }).click();
    await page.getByRole('button', { name: /1 armed/ }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  it('offers a viewer nothing that the appliance would refuse', LONG, async () => {
    const { page, close } = await signedIn('/?q=r10u25&sel=r10u25', {}, 'viewer');
    await page.getByText('1 selected').waitFor();
    expect(await page.getByRole('button', { name: 'Deploy…' }).isDisabled()).toBe(true);
    await close();
  });
});

describe('a failed node', () => {
  it('shows why, and the next step as a button', LONG, async () => {
    const { page, problems, close } = await signedIn('/nodes/r10u07');
    await page.getByRole('heading', { name: 'Why' }).waitFor();
    await page.getByText(/failed at deploy: it fetched shimx64.efi/).waitFor();
    await page.getByRole('button', { name: 'Deploy…' }).click();
    await page.getByRole('dialog').getByText('This overwrites the data on the disk of r10u07.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Explain' }).click();
    await page.getByLabel('As if it were').selectOption('deploying');
    await page.getByText(/supposed, nothing is changed/).waitFor();
    expect(page.url()).toContain('tab=explain&as=deploying');
    expect(problems).toEqual([]);
    await close();
  });
});

describe('text from machines', () => {
  it('is shown, and never run or obeyed', LONG, async () => {
    const evil = '<img src=x onerror=alert(1)>\u202egnp.\u001b[31m';
    const labels = { rack: '"><script>alert(2)</script>' };
    const interfaces = [{ name: 'eth0', mac: '52:54:00:99:00:01', network: 'provisioning' }];
    const made = await api('/api/v1/nodes', { name: 'evil01', sku: 'gp1', serial: '<b>SN</b>', interfaces, labels });
    expect(made.statusCode, made.body).toBe(201);
    expect((await api('/api/v1/nodes/evil01/quarantine', { note: evil })).statusCode).toBe(200);
    const { page, problems, close } = await signedIn('/?q=evil');
    await rowOf(page, 'evil01').getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await rowOf(page, 'evil01').textContent()).toContain('<script>alert(2)</script>');
    await page.goto(`${site.url}/nodes/evil01?tab=hardware`);
    await page.getByText('<b>SN</b>').first().waitFor();
    const note = page.getByText('Note: <img src=x onerror=alert(1)>‹U+202E›gnp.␛[31m');
    await note.first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });
});

describe('every page', () => {
  const PAGES = [
    ...['/', '/?tab=attention', '/nodes/r10u07', '/nodes/r10u07?tab=power', '/nodes/nobody', '/nodes/node01/console'],
    ...['/racks', '/racks/r10', '/racks/r10?labels=yes', '/t', '/t/r10u07', '/networks', '/inventory', '/events'],
    ...['/events?show=audit', '/explain?node=node01', '/clusters', '/images', '/tokens', '/appliance'],
  ];

  it.each([
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const)('has no accessibility problem and breaks no policy in %s', LONG, async (theme: Theme, size) => {
    const { page, problems, close } = await signedIn('/', { theme, size });
    for (const path of PAGES) {
      await page.goto(site.url + path);
      await page.locator('main :is([role=grid], .card, .notice, .technician, .labels)').first().waitFor();
      await expect.poll(() => page.locator('.notice.loading').count(), SOON).toBe(0);
      expect([path, await accessibilityProblems(page)]).toEqual([path, []]);
    }
    expect(problems).toEqual([]);
    await close();
  });
});

describe('a session that ends', () => {
  it('shows the sign-in form, says why, and returns to the same place', LONG, async () => {
    const { page, close } = await signedIn('/nodes/r10u09', {}, 'viewer');
    await page.getByRole('heading', { name: 'r10u09' }).waitFor();
    site.clock.time += HOUR;
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('link', { name: 'Tasks' }).click();
    await page.getByText(/the session was not used for 30 minutes/).waitFor();
    await page.getByLabel('API token').fill(site.tokens.viewer);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'r10u09' }).waitFor();
    await close();
  });
});
