// Vector loads and stores (RVV 1.0 section 7). Unit-stride accesses move whole planes; everything else goes element by element.
#include "handlers.hpp"
#include "lane_elements.hpp"
#include "vector_operand.hpp"

namespace torchsim::iss {
namespace {

constexpr u64 low_bytes(u64 count) { return count >= 8 ? ~u64{0} : (u64{1} << (8 * count)) - 1; }
constexpr u64 element_bits(unsigned log) { return low_bytes(u64{1} << log); }

unsigned width_log(const Insn& i) {
  const unsigned width = i.word >> 12 & 7;
  return width == 0 ? 0 : width - 4;
}
unsigned fields_of(const Insn& i) { return (i.word >> 29) + 1; }

/// Element-wise access to `fields` fields: element e, field f at base + e * stride + f * size.
struct Elements {
  unsigned vd, fields, registers;  // registers of one field
  unsigned log;
  bool unmasked;
};

unsigned registers_of(int emul) { return emul > 0 ? 1u << emul : 1; }

Elements require_elements(Core& c, const Insn& i, unsigned log, bool store) {
  VectorUnit& v = c.vector;
  v.require();
  const int emul = v.lmul + static_cast<int>(log) - static_cast<int>(v.sew);
  const Elements e{i.rd, fields_of(i), registers_of(emul), log, i.unmasked};
  if (store)
    v.require_group(i.rd, emul);
  else
    v.require_dest(i.rd, emul, i.unmasked);
  if (e.fields * e.registers > 8 || e.vd + e.fields * e.registers > 32)
    raise(Cause::illegal_instruction, "%u fields of %u registers from v%u", e.fields, e.registers, e.vd);
  return e;
}

void load_element(Core& c, const Elements& el, u64 e, unsigned field, u64 address, const u64* active) {
  VectorUnit& v = c.vector;
  const Place place = c.memory.locate(address, u64{1} << el.log, u64{1} << el.log, Access::vector_load);
  const u64 byte = e << el.log;
  u64* to = v.reg(el.vd + field * el.registers) + byte / 8 * v.lanes;
  const unsigned to_shift = 8 * (byte & 7);
  if (place.bank) {
    if (c.noting()) c.note_read(place, u64{1} << el.log, active);
    v.kernels.move_element(to, to_shift, place.bank->plane(place.offset / 8), 8 * (place.offset & 7), element_bits(el.log), active,
                           v.lanes);
  } else {
    u64 value;
    std::memcpy(&value, c.memory.image() + place.offset, 8);  // the image is padded
    std::fill_n(v.temp(0), v.lanes, value);
    v.kernels.move_element(to, to_shift, v.temp(0), 0, element_bits(el.log), active, v.lanes);
  }
}

void store_element(Core& c, const Elements& el, u64 e, unsigned field, u64 address, const u64* active) {
  VectorUnit& v = c.vector;
  const Place place = c.memory.locate(address, u64{1} << el.log, u64{1} << el.log, Access::vector_store);
  const u64 byte = e << el.log;
  const u64* from = v.reg(el.vd + field * el.registers) + byte / 8 * v.lanes;
  place.bank->mark_dirty(place.offset, u64{1} << el.log);
  if (c.noting()) c.note_write(place, u64{1} << el.log, active);
  v.kernels.move_element(place.bank->plane(place.offset / 8), 8 * (place.offset & 7), from, 8 * (byte & 7), element_bits(el.log), active,
                         v.lanes);
}

/// Runs f(element, active lanes or null) for elements that are active in some lane.
template <class F>
void each_active(Core& c, bool unmasked, F f) {
  VectorUnit& v = c.vector;
  for (u64 e = 0; e < v.vl; ++e) {
    if (unmasked) {
      f(e, nullptr);
      continue;
    }
    u64* active = v.temp(6);
    lane_mask(v, active, v.mask(), e);
    if (std::any_of(active, active + v.lanes, [](u64 word) { return word != 0; })) f(e, active);
  }
}

template <bool Store>
void by_stride(Core& c, const Elements& el, u64 base, u64 stride) {
  each_active(c, el.unmasked, [&](u64 e, const u64* active) {
    for (unsigned field = 0; field < el.fields; ++field) {
      const u64 address = base + e * stride + (u64{field} << el.log);
      if constexpr (Store)
        store_element(c, el, e, field, address, active);
      else
        load_element(c, el, e, field, address, active);
    }
  });
}

/// n consecutive elements into the group at vd.
void load_contiguous(Core& c, unsigned vd, u64 n, unsigned log, const Place& place, bool unmasked) {
  VectorUnit& v = c.vector;
  const std::size_t planes = VectorUnit::planes_of(n, log);
  if (!place.bank) {
    for (std::size_t p = 0; p < planes; ++p) {
      u64 word = 0;
      std::memcpy(&word, c.memory.image() + place.offset + 8 * p, std::min<u64>(8, (n << log) - 8 * p));
      std::fill_n(v.temp(0) + p * v.lanes, v.lanes, word);
    }
    return v.commit_planes(v.reg(vd), v.temp(0), n, log, unmasked);
  }
  const u64* from = place.bank->plane(place.offset / 8);
  const unsigned shift = place.offset & 7;
  if (shift) {
    const bool in_place = unmasked && VectorUnit::tail_bits(n, log) == ~u64{0};
    v.kernels.funnel(in_place ? v.reg(vd) : v.temp(0), from, planes, shift, v.lanes);
    if (in_place) return;
    from = v.temp(0);
  }
  v.commit_planes(v.reg(vd), from, n, log, unmasked);
}

void store_contiguous(Core& c, unsigned vs, u64 n, unsigned log, const Place& place) {
  VectorUnit& v = c.vector;
  const u64 bytes = n << log;
  place.bank->mark_dirty(place.offset, bytes);
  u64* to = place.bank->plane(place.offset / 8);
  const unsigned shift = place.offset & 7;
  if (shift == 0) return v.commit_planes(to, v.reg(vs), n, log, true);
  // plane j of memory takes the upper bytes of register plane j - 1 and the lower bytes of register plane j
  const u64* from = v.reg(vs);
  const std::size_t full = (shift + bytes) / 8;  // planes up to the last byte; all but the first are wholly written
  const unsigned rest = (shift + bytes) % 8, left = 8 * shift, right = 64 - left;
  v.kernels.move_element(to, left, from, 0, low_bytes(std::min<u64>(8 - shift, bytes)), nullptr, v.lanes);
  if (full > 1) v.kernels.unfunnel(to + v.lanes, from + v.lanes, full - 1, shift, v.lanes);
  if (full == 0 || rest == 0) return;
  u64* last = to + full * v.lanes;
  v.kernels.move_element(last, 0, from + (full - 1) * v.lanes, right, low_bytes(std::min(rest, shift)), nullptr, v.lanes);
  if (rest > shift) v.kernels.move_element(last, left, from + full * v.lanes, 0, low_bytes(rest - shift), nullptr, v.lanes);
}

void load_unit(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  const unsigned log = width_log(i);
  const Elements el = require_elements(c, i, log, false);
  const u64 base = c.x[i.rs1], bytes = v.vl << log;
  if (v.vl == 0) return;
  if (el.fields > 1) return by_stride<false>(c, el, base, u64{el.fields} << log);
  if (i.unmasked) {
    const Place place = c.memory.locate(base, bytes, u64{1} << log, Access::vector_load);
    if (c.noting()) c.note_read(place, bytes);
    return load_contiguous(c, i.rd, v.vl, log, place, true);
  }
  // masked: elements that no lane wants may lie anywhere
  const auto place = c.memory.probe(base, bytes, Access::vector_load);
  if (place && (base & ((u64{1} << log) - 1)) == 0 && !c.noting()) return load_contiguous(c, i.rd, v.vl, log, *place, false);
  by_stride<false>(c, el, base, u64{1} << log);
}

void store_unit(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  const unsigned log = width_log(i);
  const Elements el = require_elements(c, i, log, true);
  const u64 base = c.x[i.rs1], bytes = v.vl << log;
  if (v.vl == 0) return;
  if (el.fields > 1) return by_stride<true>(c, el, base, u64{el.fields} << log);
  if (i.unmasked) {
    const Place place = c.memory.locate(base, bytes, u64{1} << log, Access::vector_store);
    if (c.noting()) c.note_write(place, bytes);
    return store_contiguous(c, i.rd, v.vl, log, place);
  }
  const auto place = c.memory.probe(base, bytes, Access::vector_store);
  if (place && (place->offset & 7) == 0 && !c.noting()) {
    place->bank->mark_dirty(place->offset, bytes);
    return v.commit_planes(place->bank->plane(place->offset / 8), v.reg(i.rd), v.vl, log, false);
  }
  by_stride<true>(c, el, base, u64{1} << log);
}

template <bool Store>
void strided(Core& c, const Insn& i) {
  const Elements el = require_elements(c, i, width_log(i), Store);
  by_stride<Store>(c, el, c.x[i.rs1], c.x[i.rs2]);
}

template <bool Store>
void indexed(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const unsigned index_log = width_log(i), log = v.sew;
  const Elements el = require_elements(c, i, log, Store);
  const int index_emul = v.lmul + static_cast<int>(index_log) - static_cast<int>(v.sew);
  v.require_group(i.rs2, index_emul);
  if (!Store) {
    if (el.fields > 1) {
      for (unsigned field = 0; field < el.fields; ++field) v.require_disjoint(i.rd + field * el.registers, v.lmul, i.rs2, index_emul);
    } else if (log > index_log)
      v.require_widening(i.rd, v.lmul, i.rs2, index_emul);
    else if (log < index_log)
      v.require_narrowing(i.rd, v.lmul, i.rs2, index_emul);
  }
  // indices may share registers with the destination
  const u64* indices = v.reg(i.rs2);
  if (!Store) {
    std::memcpy(v.temp(1), indices, VectorUnit::planes_of(v.vl, index_log) * v.lanes * 8);
    indices = v.temp(1);
  }
  const u64 size = u64{1} << log;
  const auto access = [&](u64 e, unsigned l) {
    const u64 base = c.x[i.rs1] + lane_element(v, indices, e, index_log, l);
    for (unsigned field = 0; field < el.fields; ++field) {
      u64* group = v.reg(el.vd + field * el.registers);
      const Place place = c.memory.locate(base + field * size, size, size, Store ? Access::vector_store : Access::vector_load);
      if constexpr (Store) {
        const u64 value = lane_element(v, group, e, log, l);
        place.bank->mark_dirty(place.offset, size);
        if (c.noting()) c.note_write_lane(place, size, l);
        std::memcpy(place.bank->at(l, place.offset), &value, size);
      } else {
        u64 value = 0;
        if (place.bank && c.noting()) c.note_read_lane(place, size, l);
        std::memcpy(&value, place.bank ? place.bank->at(l, place.offset) : c.memory.image() + place.offset, size);
        set_lane_element(v, group, e, log, l, value);
      }
    }
  };
  each_active(c, el.unmasked, [&](u64 e, const u64* active) {
    for (unsigned l = 0; l < v.lanes; ++l) {
      if (active && !active[l]) continue;
      try {
        access(e, l);
      } catch (Trap& trap) {
        trap.detail += " (element " + std::to_string(e) + " of lane " + std::to_string(l) + ")";
        throw;
      }
    }
  });
}

template <bool Store>
void mask_register(Core& c, const Insn& i) {
  VectorUnit& v = c.vector;
  v.require();
  const u64 n = (v.vl + 7) / 8;
  if (n == 0) return;
  const Place place = c.memory.locate(c.x[i.rs1], n, 1, Store ? Access::vector_store : Access::vector_load);
  if constexpr (Store) {
    if (c.noting()) c.note_write(place, n);
    store_contiguous(c, i.rd, n, 0, place);
  } else {
    if (c.noting()) c.note_read(place, n);
    load_contiguous(c, i.rd, n, 0, place, true);
  }
}

template <bool Store>
void whole_register(Core& c, const Insn& i) {
  const unsigned count = fields_of(i), log = width_log(i);
  if (i.rd % count) raise(Cause::illegal_instruction, "v%u cannot start a group of %u registers", i.rd, count);
  const u64 bytes = u64{count} * kVlenBytes;
  const Place place = c.memory.locate(c.x[i.rs1], bytes, u64{1} << log, Store ? Access::vector_store : Access::vector_load);
  if constexpr (Store) {
    if (c.noting()) c.note_write(place, bytes);
    store_contiguous(c, i.rd, bytes, 0, place);
  } else {
    if (c.noting()) c.note_read(place, bytes);
    load_contiguous(c, i.rd, bytes, 0, place, true);
  }
}

}  // namespace

void add_vector_memory(HandlerTable& t) {
  using enum npu::isa::Format;
  for (const npu::isa::Row& row : npu::isa::kRows) {
    switch (row.format) {
      case VL_UNIT:
        t.set(row.op, load_unit);
        break;
      case VS_UNIT:
        t.set(row.op, store_unit);
        break;
      case VL_STRIDED:
        t.set(row.op, strided<false>);
        break;
      case VS_STRIDED:
        t.set(row.op, strided<true>);
        break;
      case VL_INDEXED:
        t.set(row.op, indexed<false>);
        break;
      case VS_INDEXED:
        t.set(row.op, indexed<true>);
        break;
      case VL_MASK:
        t.set(row.op, mask_register<false>);
        break;
      case VS_MASK:
        t.set(row.op, mask_register<true>);
        break;
      case VL_WHOLE:
        t.set(row.op, whole_register<false>);
        break;
      case VS_WHOLE:
        t.set(row.op, whole_register<true>);
        break;
      default:
        break;  // fault-only-first loads would change vl per lane: not implemented
    }
  }
}

}  // namespace torchsim::iss
