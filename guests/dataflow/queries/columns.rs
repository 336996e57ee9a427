//! Columns of the tables of TPC-DS, by their places in the layout of version 3 of its specification, of which each query
//! reads a few.

#![allow(dead_code, reason = "no query reads all of them")]

pub mod store_sales {
    pub const SOLD_DATE: usize = 0;
    pub const ITEM: usize = 2;
    pub const CUSTOMER: usize = 3;
    pub const DEMOGRAPHICS: usize = 4;
    pub const STORE: usize = 7;
    pub const PROMOTION: usize = 8;
    pub const QUANTITY: usize = 10;
    pub const LIST_PRICE: usize = 12;
    pub const SALES_PRICE: usize = 13;
    pub const EXT_SALES_PRICE: usize = 15;
    pub const COUPON_AMT: usize = 19;
}

pub mod store_returns {
    pub const RETURNED_DATE: usize = 0;
    pub const CUSTOMER: usize = 3;
    pub const STORE: usize = 7;
    pub const RETURN_AMT: usize = 11;
}

pub mod catalog_sales {
    pub const SOLD_DATE: usize = 0;
    pub const BILL_CUSTOMER: usize = 3;
    pub const ITEM: usize = 15;
    pub const SALES_PRICE: usize = 21;
    pub const EXT_SALES_PRICE: usize = 23;
}

pub mod web_sales {
    pub const SOLD_DATE: usize = 0;
    pub const ITEM: usize = 3;
    pub const EXT_SALES_PRICE: usize = 23;
}

pub mod date_dim {
    pub const DATE_SK: usize = 0;
    pub const DATE: usize = 2;
    pub const MONTH_SEQ: usize = 3;
    pub const YEAR: usize = 6;
    pub const MONTH: usize = 8;
    pub const QUARTER: usize = 10;
}

pub mod item {
    pub const ITEM_SK: usize = 0;
    pub const ITEM_ID: usize = 1;
    pub const DESCRIPTION: usize = 4;
    pub const CURRENT_PRICE: usize = 5;
    pub const BRAND_ID: usize = 7;
    pub const BRAND: usize = 8;
    pub const CLASS: usize = 10;
    pub const CATEGORY: usize = 12;
    pub const MANUFACTURER_ID: usize = 13;
    pub const MANUFACTURER: usize = 14;
    pub const MANAGER_ID: usize = 20;
}

pub mod store {
    pub const STORE_SK: usize = 0;
    pub const STATE: usize = 24;
    pub const ZIP: usize = 25;
}

pub mod customer {
    pub const CUSTOMER_SK: usize = 0;
    pub const CUSTOMER_ID: usize = 1;
    pub const ADDRESS: usize = 4;
}

pub mod customer_address {
    pub const ADDRESS_SK: usize = 0;
    pub const STATE: usize = 8;
    pub const ZIP: usize = 9;
}

pub mod customer_demographics {
    pub const DEMO_SK: usize = 0;
    pub const GENDER: usize = 1;
    pub const MARITAL_STATUS: usize = 2;
    pub const EDUCATION: usize = 3;
}

pub mod promotion {
    pub const PROMOTION_SK: usize = 0;
    pub const CHANNEL_EMAIL: usize = 9;
    pub const CHANNEL_EVENT: usize = 14;
}
