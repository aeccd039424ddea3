# Drives a service with sushy, the Redfish client of OpenStack Ironic, and prints the results as JSON.
# Everything comes through the environment: no password is ever an argument.

import json
import os

import sushy
import urllib3

urllib3.disable_warnings()

root = sushy.Sushy(
    os.environ["URL"], username=os.environ["NAME"], password=os.environ["PASSWORD"], verify=False
)
(system,) = root.get_system_collection().get_members()
(manager,) = root.get_manager_collection().get_members()
seen = {"before": system.power_state.value, "manufacturer": system.manufacturer, "firmware": manager.firmware_version}

system.reset_system(sushy.ResetType.ON)
system.refresh(force=True)
seen["after"] = system.power_state.value

mode = sushy.BootSourceOverrideMode.UEFI if os.environ["MODE"] == "yes" else None
system.set_system_boot_options(
    sushy.BootSource.PXE, enabled=sushy.BootSourceOverrideEnabled.ONCE, mode=mode
)
system.refresh(force=True)
seen["boot"] = [system.boot.target.value, system.boot.enabled.value, system.boot.mode.value]

system.set_indicator_led(sushy.IndicatorLED.BLINKING) if system.indicator_led else None

root._conn._auth.close()
print(json.dumps(seen))
