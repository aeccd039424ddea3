# Everything on one machine, for development and tests.
{
  imports = [
    ./control-plane.nix
    ./worker.nix
  ];
}
