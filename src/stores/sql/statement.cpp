#include "stores/sql/statement.hpp"

#include "base/immortal.hpp"

namespace mortise::inline v0::stores::sql {
namespace {

const base::immortal<value> null;

}  // namespace

const value& value_at(const values& row, std::size_t column) {
    return column < row.size() ? row[column] : null.value;
}

}  // namespace mortise::inline v0::stores::sql
