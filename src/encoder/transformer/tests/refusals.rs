//! Folders that are damaged, incomplete or of an unsupported network are refused with the reason, whatever the file.

use super::families::folder;
use super::*;

/// The configuration of a tiny BERT.
const TINY: &str = r#"{"model_type": "bert", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 24, "more": 1}"#;

fn read(text: &str) -> Result<Blueprint> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, text).unwrap();
    Blueprint::read(&path)
}

/// A copy of a family's folder, without what a test has no use for.
fn copied(family: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder(family)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    copy
}

fn refusal(folder: &Path) -> String {
    Transformer::open(folder, &Device::Cpu).unwrap_err().to_string()
}

#[test]
fn missing_keys_get_the_defaults_of_bert() {
    let shape = read(TINY).unwrap().shape;
    assert_eq!((shape.dims, shape.epsilon, shape.dropout), (8, 1e-12, 0.1));
}

#[test]
fn an_unsupported_network_is_refused_with_the_key_at_fault() {
    for (from, to, key) in [
        ("\"bert\"", "\"gpt2\"", "modernbert, mpnet, roberta"),
        ("\"model_type\": \"bert\",", "", "model_type"),
        ("\"more\": 1", "\"hidden_act\": \"mish\"", "hidden_act"),
        ("\"more\": 1", "\"position_embedding_type\": \"relative_key\"", "position_embedding_type"),
        ("\"vocab_size\": 9", "\"vocab_size\": 0", "vocab_size"),
        ("\"vocab_size\": 9", "\"vocab_size\": 1e30", "vocab_size"),
        ("\"num_attention_heads\": 2", "\"num_attention_heads\": 3", "hidden_size"),
        ("\"num_hidden_layers\": 1,", "", "num_hidden_layers"),
        ("\"num_hidden_layers\": 1,", "\"num_hidden_layers\": 16777216,", "at most 256 layers"),
        ("\"more\": 1", "\"layer_norm_eps\": 1e300", "layer_norm_eps"),
        ("\"more\": 1", "\"hidden_dropout_prob\": 1.0", "hidden_dropout_prob"),
        ("\"max_position_embeddings\": 24", "\"max_position_embeddings\": 2", "max_position_embeddings"),
    ] {
        let message = read(&TINY.replace(from, to)).unwrap_err().to_string();
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn what_a_family_can_have_and_is_not_supported_is_refused_by_name() {
    for (family, key, value) in [
        ("albert", "inner_group_num", "2"),
        ("albert", "num_hidden_groups", "7"),
        ("deberta-v2", "conv_kernel_size", "3"),
        ("deberta-v2", "share_att_key", "false"),
        ("deberta-v2", "position_buckets", "2"),
        ("deberta-v2", "pos_att_type", "[\"p2p\"]"),
        ("deberta-v2", "type_vocab_size", "2"),
        ("modernbert", "layer_types", "[\"full_attention\"]"),
        ("modernbert", "num_hidden_layers", "16777216"),
        ("modernbert", "hidden_size", "6"),
        ("modernbert", "rope_scaling", "{\"rope_type\": \"yarn\"}"),
        ("mpnet", "relative_attention_num_buckets", "16"),
        ("roberta", "pad_token_id", "-1"),
        ("distilbert", "n_layers", "16777216"),
    ] {
        let text = std::fs::read_to_string(folder(family).join("config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
        read(&config.to_string()).unwrap();
        config[key] = serde_json::from_str(value).unwrap();
        let message = read(&config.to_string()).unwrap_err().to_string();
        let named = message.contains(key) || value == "16777216" && message.contains("at most 256 layers");
        let rope = key == "rope_scaling" && message.contains("rope_parameters");
        assert!(named || rope, "{family} {key}: {message}");
    }
}

#[test]
fn older_keys_of_modernbert_mean_the_same() {
    let text = std::fs::read_to_string(folder("modernbert").join("config.json")).unwrap();
    let newer = read(&text).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys = config.as_object_mut().unwrap();
    assert!(keys.remove("layer_types").is_some() && keys.remove("rope_parameters").is_some());
    for (key, value) in
        [("global_attn_every_n_layers", 3.0), ("global_rope_theta", 160_000.0), ("local_rope_theta", 10_000.0)]
    {
        keys.insert(key.to_string(), if value < 4.0 { 3.into() } else { value.into() });
    }
    assert_eq!(read(&config.to_string()).unwrap(), newer);
}

#[test]
fn a_folder_without_a_tokenizer_says_how_to_write_one() {
    let copy = copied("roberta");
    std::fs::remove_file(copy.path().join("tokenizer.json")).unwrap();
    let message = refusal(copy.path());
    assert!(message.contains("AutoTokenizer"), "{message}");
}

#[test]
fn a_tokenizer_that_its_library_panics_on_is_refused() {
    let copy = copied("electra");
    let path = copy.path().join("tokenizer.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, _) = text.split_once("\"decoder\":").unwrap();
    std::fs::write(&path, format!("{before}\"decoder\": ]")).unwrap();
    assert!(refusal(copy.path()).contains("tokenizer.json"));
}

#[test]
fn a_list_of_files_that_names_others_or_lacks_some_is_refused() {
    const LIST: &str = "model.safetensors.index.json";
    for (content, expected) in [
        ("{}", "weight_map"),
        (r#"{"weight_map": {}}"#, "from 1 to"),
        (r#"{"weight_map": {"a": "../secret"}}"#, "same folder"),
        (r#"{"weight_map": {"a": "model-00001-of-00002.safetensors"}}"#, "the tensor"),
        (r#"{"weight_map": {"a": "missing.safetensors"}}"#, "missing.safetensors"),
    ] {
        let copy = copied("electra");
        Transformer::open(copy.path(), &Device::Cpu).unwrap();
        std::fs::write(copy.path().join(LIST), content).unwrap();
        let message = refusal(copy.path());
        assert!(message.contains(expected), "{content}: {message}");
    }
}

#[test]
fn weights_as_pytorch_saved_them_before_archives_are_the_same() {
    let opened = Transformer::open(&folder("mpnet"), &Device::Cpu).unwrap();
    let read = |name: &str| weights::read(&folder("mpnet"), &[name.to_string()], &opened.blueprint).unwrap();
    assert_eq!(read("older.bin"), read("model.safetensors"));
}

#[test]
fn any_damage_to_weights_of_pytorch_is_an_error_or_changes_nothing_but_values() {
    for (family, name) in [("distilbert", "pytorch_model.bin"), ("mpnet", "older.bin")] {
        damage(family, name);
    }
}

fn damage(family: &str, name: &str) {
    let copy = copied(family);
    let path = copy.path().join(name);
    let whole = std::fs::read(&path).unwrap();
    let opened = Transformer::open_without_weights(copy.path()).unwrap();
    let files = [name.to_string()];
    weights::read(copy.path(), &files, &opened.blueprint).unwrap();
    let mut random = Random::new(5);
    let mut refused = 0;
    for round in 0..400 {
        let mut bytes = whole.clone();
        if round % 4 == 0 {
            bytes.truncate(random.bits() as usize % whole.len());
        } else {
            // Half of the changes are to the list of tensors, which comes first.
            let end = if round % 2 == 0 { whole.len() } else { 4096 };
            bytes[random.bits() as usize % end] = random.bits() as u8;
        }
        std::fs::write(&path, &bytes).unwrap();
        if let Err(error) = weights::read(copy.path(), &files, &opened.blueprint) {
            assert!(error.to_string().contains(name), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_pickle_that_refers_to_itself_or_nests_without_end_takes_no_memory() {
    use super::super::pytorch::Saved;
    use std::io::Write;
    let archive = |list: &[u8]| {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        writer.start_file("archive/data.pkl", options).unwrap();
        writer.write_all(list).unwrap();
        writer.finish().unwrap().into_inner()
    };
    // Doubles what the last step made, forty times.
    let mut doubled = b"\x80\x02)q\x00".to_vec();
    (0..40).for_each(|_| doubled.extend_from_slice(b"h\x00h\x00\x86q\x00"));
    let mut nested = b"\x80\x02)".to_vec();
    nested.extend(std::iter::repeat_n(0x85, 1_000_000));
    let mut stored = b"\x80\x02)".to_vec();
    (0..500_000).for_each(|_| stored.extend_from_slice(b"\x85Q"));
    for list in
        [&doubled[..], &nested, &stored, b"\x80\x02X\xff\xff\xff\xffa.", b"", b"\x85.", b"h\x05.", b"\x8a\x20", b"cx"]
    {
        assert!(Saved::new(&archive(list)).is_err());
    }
    assert!(Saved::new(&archive(b"\x80\x02}.")).unwrap().find("x").unwrap().is_none());
}
