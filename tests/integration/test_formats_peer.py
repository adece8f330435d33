"""What the headers tell, held against other readers of the same files: the npm packages that the Hub itself uses."""

import json
import subprocess

import pytest

import formats
import harness

pytestmark = pytest.mark.slow

READ_GGUF = """
import { gguf, GGMLQuantizationType } from '@huggingface/gguf';
for (const path of process.argv.slice(1)) {
  const { metadata, tensorInfos, parameterCount } =
      await gguf(path, { allowLocalFile: true, computeParametersCount: true });
  console.log(JSON.stringify({
    version: metadata.version,
    architecture: metadata['general.architecture'],
    context: Number(metadata['llama.context_length']),
    layers: Number(metadata['llama.block_count']),
    experts: Number(metadata['llama.expert_count']),
    parameters: parameterCount,
    types: tensorInfos.map((t) => GGMLQuantizationType[t.dtype]),
  }));
}
"""

READ_SAFETENSORS = """
import { parseSafetensorsMetadata } from '@huggingface/hub';
import { readFileSync } from 'node:fs';
const folder = process.argv[1];
const serve = async (url, options) => {  // as the Hub does: files, whole or by range
  const bytes = readFileSync(folder + '/' + new URL(url).pathname.split('/').at(-1));
  const [, begin, end] = /bytes=(\\d+)-(\\d*)/.exec(new Headers(options?.headers).get('range')) ?? [0, 0, ''];
  const part = bytes.subarray(+begin, end ? +end + 1 : undefined);
  const headers = { etag: '"1"', 'content-range': `bytes ${begin}-${+begin + part.length - 1}/${bytes.length}` };
  return new Response(part, { status: 206, headers });
};
const { parameterCount } = await parseSafetensorsMetadata(
    { repo: 'o/m', path: process.argv[2], computeParametersCount: true, fetch: serve });
console.log(JSON.stringify(parameterCount));
"""


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Runs a script with the packages at hand; gives the JSON lines that it prints."""
    folder = tmp_path_factory.mktemp("node")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts",
               "@huggingface/gguf@0.4.6", "@huggingface/hub@2.17.5"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired) as e:
        pytest.skip(f"cannot install the packages: {e}")
    if done.returncode != 0:
        pytest.skip(f"cannot install the packages: {(done.stderr.strip().splitlines() or ['?'])[-1]}")

    def run(script, *args):
        result = subprocess.run(["node", "--input-type=module", "-e", script, *args], cwd=folder, text=True,
                                capture_output=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]
    return run


def metadata_of(folder):
    """The metadata object of a folder."""
    done = subprocess.run([harness.BUILD / "model_json", folder], capture_output=True, check=True)
    return json.loads(done.stdout)


def every_type():
    """A model with a tensor of each type."""
    file = formats.Gguf()
    file.key("general.architecture", "string", "llama").key("llama.context_length", "u32", 77)
    for number in formats.GGML:
        file.tensor(f"t{number}", [256, 3, 2], number)
    return file


@pytest.mark.parametrize("make", [lambda: formats.llama(1), lambda: formats.llama(2), lambda: formats.llama(3),
                                  every_type], ids=["v1", "v2", "v3", "types"])
def test_gguf_as_the_hub_reads_it(node, work, make):
    folder = work / "model"
    path = make().write(folder / "m.gguf")
    (theirs,), ours = node(READ_GGUF, str(path)), metadata_of(folder)
    assert ours["findings"] == []
    assert ours["architecture"] == theirs["architecture"]
    assert ours["context_length"] == theirs["context"]
    assert ours["layers"] == theirs["layers"] and ours["experts"] == theirs["experts"]
    assert ours["parameters"] == theirs["parameters"]
    assert ours["tensors"] == len(theirs["types"])
    assert {d["dtype"]: d["tensors"] for d in ours["dtypes"]} == {t: theirs["types"].count(t) for t in theirs["types"]}


def test_safetensors_as_the_hub_reads_them(node, work):
    folder = work / "model"
    formats.safetensors(folder / "model.safetensors", {
        "a": ("BF16", (16, 8)), "b": ("F32", (3,)), "c": ("F8_E4M3", (5, 5)), "d": ("I64", (7,)), "e": ("F16", (0, 4))},
        metadata={"format": "pt"})
    (theirs,), ours = node(READ_SAFETENSORS, str(folder), "model.safetensors"), metadata_of(folder)
    assert ours["findings"] == []
    assert {d["dtype"]: d["elements"] for d in ours["dtypes"] if d["elements"]} == \
        {name: count for name, count in theirs.items() if count}


def test_quantised_layers_as_the_hub_counts_them(node, work):
    folder = work / "model"
    formats.safetensors(folder / "model.safetensors", {
        "a.qweight": ("I32", (32, 64)), "a.qzeros": ("I32", (2, 8)), "a.scales": ("F16", (2, 64)),
        "a.g_idx": ("I32", (256,)), "norm.weight": ("F16", (64,))})
    (folder / "config.json").write_text('{"quantization_config": {"quant_method": "gptq", "bits": 4}}')
    (theirs,), ours = node(READ_SAFETENSORS, str(folder), "model.safetensors"), metadata_of(folder)
    assert ours["parameters"] == sum(theirs.values()) == 256 * 64 + 64
    assert ours["quantization"] == "gptq" and ours["quantization_bits"] == 4


def test_a_sharded_model_as_the_hub_reads_it(node, work):
    folder = work / "model"
    names = [f"model-{n:05}-of-00003.safetensors" for n in (1, 2, 3)]
    for number, name in enumerate(names):
        formats.safetensors(folder / name, {f"tensor.{number}": ("BF16", (number + 1, 10))})
    formats.index(folder / "model.safetensors.index.json", names)
    (theirs,) = node(READ_SAFETENSORS, str(folder), "model.safetensors.index.json")
    ours = metadata_of(folder)
    assert ours["findings"] == [] and ours["sets"][0]["files"] == 3
    assert ours["parameters"] == theirs["BF16"] == 60
