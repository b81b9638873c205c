// Runs in the sandbox, where `tools` is a global.
const labels = ['by code: anchor', 'by code: bollard', 'by code: crane'];
for (const label of labels) {
  await tools.shell.run({ command: `sleep 0.2; echo '${label}' >> log; sleep 0.2` });
  await tools.chaos.mark({ label: `${label}, in the sandbox` });
  await tools.chaos.count({ label });
  console.log(await tools.chaos.look({ key: label }));
}
