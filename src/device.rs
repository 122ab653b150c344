//! Selects the device on which tensors are stored and computed.

use crate::error::{Error, Result};
use candle_core::{DType, Device as Candle};

/// Where tensors are stored and computed. [`Device::CPU`] is the default.
#[derive(Clone, Debug)]
pub struct Device(Candle);

impl Device {
    /// The processor.
    pub const CPU: Self = Self(Candle::Cpu);

    /// The same for tensors.
    pub(crate) fn of_tensors(&self) -> &Candle {
        &self.0
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::CPU
    }
}

/// Selects a device by name: `auto`, `cpu`, `cuda`, `cuda:N` or `metal`. `auto` selects the best available one.
///
/// ```
/// let device = citree::device::pick("cpu")?;
/// let missing = citree::Bundle::open_on("nowhere.citree", &device);
/// assert!(missing.is_err());
/// # Ok::<(), citree::Error>(())
/// ```
pub fn pick(name: &str) -> Result<Device> {
    candle(name).map(Device)
}

fn candle(name: &str) -> Result<Candle> {
    let refuse = |message: String| Error::Device { device: name.to_string(), message };
    let built_without = |feature: &str| {
        refuse(format!(
            "this citree was built without it; build with `cargo build --release --features {feature}`, or use --device cpu"
        ))
    };
    match name.split_once(':').unwrap_or((name, "0")) {
        ("cpu", "0") => Ok(Candle::Cpu),
        ("auto", "0") if cfg!(feature = "cuda") => Candle::cuda_if_available(0).map_err(|e| refuse(e.to_string())),
        ("auto", "0") if cfg!(feature = "metal") => Ok(Candle::metal_if_available(0).unwrap_or(Candle::Cpu)),
        ("auto", "0") => Ok(Candle::Cpu),
        ("cuda", _) if cfg!(not(feature = "cuda")) => Err(built_without("cuda")),
        ("cuda", number) => {
            let number = number.parse().map_err(|_| refuse("the number after cuda: must be 0 or more".to_string()))?;
            Candle::new_cuda(number).map_err(|e| refuse(e.to_string()))
        }
        ("metal", "0") if cfg!(not(feature = "metal")) => Err(built_without("metal")),
        ("metal", "0") => Candle::new_metal(0).map_err(|e| refuse(e.to_string())),
        _ => Err(refuse("no such device; there are auto, cpu, cuda, cuda:N and metal".to_string())),
    }
}

/// The precision in which a frozen transformer runs: half precision on accelerators, because its states are rounded to half
/// precision anyway. Everything that is trained, and every edge vector, stays in single precision.
pub(crate) fn frozen_precision(device: &Candle) -> DType {
    if device.is_cpu() { DType::F32 } else { DType::F16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_available() {
        assert!(pick("cpu").expect("the processor").of_tensors().is_cpu());
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
