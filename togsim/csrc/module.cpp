// Python module togsim._core, whatever the name of the build (CMakeLists.txt). Conversions only; see togsim/*.py for the typed interface.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <memory>
#include <string>

#include "error.h"
#include "loader.h"
#include "producer.h"
#include "python_bridge.h"
#include "python_dram.h"
#include "python_noc.h"
#include "python_parts.h"
#include "python_records.h"
#include "python_run.h"

namespace py = pybind11;

namespace togsim {
namespace {

// Raises togsim.errors.<name> with the four parts of the message.
void raise(const char* name, const Error& error) {
  const ErrorParts& p = error.parts();
  const py::object cls = py::module_::import("togsim.errors").attr(name);
  const py::object value = cls(py::str(error.what()), py::arg("expected") = p.expected, py::arg("found") = p.found,
                               py::arg("where") = p.where, py::arg("hint") = p.hint);
  PyErr_SetObject(cls.ptr(), value.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const DeadlockError& e) {
    raise("DeadlockError", e);
  } catch (const TraceError& e) {
    raise("TraceError", e);
  } catch (const ConfigError& e) {
    raise("ConfigError", e);
  }
}

std::unique_ptr<CompiledProducer> compiled(uintptr_t kernel_fn, uintptr_t abi_fn, std::vector<int64_t> shape_args, int64_t max_records) {
  if (max_records < 1) throw ConfigError("bound on records", {"at least 1", std::to_string(max_records), "max_records", ""});
  return std::make_unique<CompiledProducer>(reinterpret_cast<CompiledProducer::KernelFn>(kernel_fn),
                                            reinterpret_cast<CompiledProducer::AbiFn>(abi_fn), std::move(shape_args), max_records);
}

}  // namespace

PYBIND11_MODULE(TOGSIM_MODULE, m) {
  py::register_exception_translator(translate);
  m.attr("ABI_VERSION") = TOGSIM_ABI_VERSION;
  m.attr("MAX_RECORDS") = kMaxRecords;
  py::class_<Producer>(m, "Producer").def("work_items", &Producer::work_items).def("records", &records_to_python);
  py::class_<CompiledProducer, Producer>(m, "CompiledProducer")
      .def(py::init(&compiled), py::arg("kernel_fn"), py::arg("abi_fn"), py::arg("shape_args"), py::arg("max_records") = kMaxRecords);
  py::class_<SyntheticProducer, Producer>(m, "SyntheticProducer").def(py::init([](const py::sequence& records) {
    return std::make_unique<SyntheticProducer>(items_from_python(records));
  }));
  bind_run(m);
  bind_bridge(m);
  bind_parts(m);
  bind_dram(m);
  bind_noc(m);
  m.def("load_shared_object", [](const std::string& path) {
    const ProducerAddresses found = load_shared_object(path);
    return py::make_tuple(found.kernel_fn, found.abi_fn);
  });
}

}  // namespace togsim
