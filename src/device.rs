//! Selects the device on which tensors are stored and computed.

use crate::error::{Error, Result};
use candle_core::{DType, Device};

/// Selects a device by name: `auto`, `cpu`, `cuda`, `cuda:N` or `metal`. `auto` selects the best available one.
pub fn pick(name: &str) -> Result<Device> {
    let refuse = |message: String| Error::Device { device: name.to_string(), message };
    let built_without = |feature: &str| {
        refuse(format!(
            "this citree was built without it; build with `cargo build --release --features {feature}`, or use --device cpu"
        ))
    };
    match name.split_once(':').unwrap_or((name, "0")) {
        ("cpu", "0") => Ok(Device::Cpu),
        ("auto", "0") if cfg!(feature = "cuda") => Device::cuda_if_available(0).map_err(|e| refuse(e.to_string())),
        ("auto", "0") if cfg!(feature = "metal") => Ok(Device::metal_if_available(0).unwrap_or(Device::Cpu)),
        ("auto", "0") => Ok(Device::Cpu),
        ("cuda", _) if cfg!(not(feature = "cuda")) => Err(built_without("cuda")),
        ("cuda", number) => {
            let number = number.parse().map_err(|_| refuse("the number after cuda: must be 0 or more".to_string()))?;
            Device::new_cuda(number).map_err(|e| refuse(e.to_string()))
        }
        ("metal", "0") if cfg!(not(feature = "metal")) => Err(built_without("metal")),
        ("metal", "0") => Device::new_metal(0).map_err(|e| refuse(e.to_string())),
        _ => Err(refuse("no such device; there are auto, cpu, cuda, cuda:N and metal".to_string())),
    }
}

/// The precision in which a frozen transformer runs: half precision on accelerators, because its states are rounded to half
/// precision anyway. Everything that is trained, and every edge vector, stays in single precision.
pub(crate) fn frozen_precision(device: &Device) -> DType {
    if device.is_cpu() { DType::F32 } else { DType::F16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_available() {
        assert!(matches!(pick("cpu"), Ok(Device::Cpu)));
        assert!(pick("auto").is_ok());
    }

    #[test]
    fn an_unsupported_or_unknown_device_is_refused_with_a_remedy() {
        for name in ["cuda", "cuda:1", "metal"] {
            if cfg!(not(any(feature = "cuda", feature = "metal"))) {
                let message = pick(name).expect_err(name).to_string();
                assert!(message.contains("--features") && message.contains("--device cpu"), "{message}");
            }
        }
        for name in ["tpu", "cpu:7", "auto:1", ""] {
            assert!(pick(name).expect_err(name).to_string().contains("no such device"));
        }
    }
}
