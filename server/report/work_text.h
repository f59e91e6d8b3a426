// What operations attain of the machine, as every report shows it.
#pragma once

#include <optional>
#include <string>

#include "analysis/values/profile.h"
#include "report/page.h"
#include "report/places.h"
#include "report/text_report.h"

namespace ridgeline::report {

/// "38 % of the roofline, compute-bound"; nothing where no bound is known.
std::optional<std::string> attained_text(const analysis::WorkCost& work);

/// "102 GFLOP/s, 12.4 FLOP per byte"; empty where nothing is computed, or its time is not known.
std::string rate_text(const analysis::WorkCost& work);

/// The operations of a line; null where none was found.
const analysis::LineWork* work_of_line(const analysis::Profile& profile, const analysis::Location& location);

/// "out_features of fc1: 1003 takes 12.3 ms in the step, in its products; with 1008 these are predicted to take 0.91x":
/// two sentences or more, with how to try it.
std::string padding_text(const analysis::Padding& padding);

/// The padding for a linear layer of the line; null where there is none.
const analysis::Padding* padding_of_line(const analysis::Profile& profile, const analysis::Location& location);

/// "A program of your own for matmul 512 1003 768 takes 0.70x (0.68-0.72) of torch's time, measured alone": with what
/// that is predicted to save of the step.
std::string own_program_text(const analysis::OwnProgram& program, double iteration_ms);

/// The program for an operation of the line; null where there is none.
const analysis::OwnProgram* own_program_of_line(const analysis::Profile& profile, const analysis::Location& location);

/// How much of a matrix product on a GPU is lost to tiles that do not divide the shape and to a partly empty last wave,
/// by operations::estimate_product(). Empty where that is little, or nothing is known.
std::string tile_text(const analysis::OperationCost& operation, const analysis::WorkDevice& device);

/// A sentence or more about the whole step; what is not known, and what to do about it. Empty without a list.
std::string step_work_note(const analysis::Profile& profile);

/// The lines with the most time in operations, and what they attain. Nothing without bounds.
void work_table(Page& page, const analysis::Profile& profile, const Places& places, const SourceLines& source);

}  // namespace ridgeline::report
